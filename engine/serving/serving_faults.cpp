// SPDX-License-Identifier: Apache-2.0
// Outages and slowdowns of instances (engine/serving/instance_faults.h).
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/serving/served_run.h"

namespace orrery {

void ServedRun::expect_change() {
    if (next_change_ < changes_.size()) {
        events_.schedule(changes_[next_change_].at, kChange, 0);
    }
}

void ServedRun::change() {
    const InstanceChange& now = changes_[next_change_++];
    switch (now.kind) {
        case InstanceChange::Kind::stop:
            stop(now.instance);
            break;
        case InstanceChange::Kind::notice:
            notice(now.instance, result_.outages[now.outage]);
            break;
        case InstanceChange::Kind::restart:
            restart(now.instance);
            break;
        case InstanceChange::Kind::pace:
            instances_[now.instance].slow_down(now.factor);
            break;
    }
    expect_change();
}

// Its steps in flight are lost at once, and so are the transfers to it and from it.
void ServedRun::stop(std::size_t number) {
    if (transport_ != nullptr) {
        end_transfers();  // the ends of this instant
        stop_transfers(number);
    }
    instances_[number].stop();
}

void ServedRun::stop_transfers(std::size_t number) {
    for (std::size_t i = 0; i < journeys_.size(); ++i) {
        Journey& journey = journeys_[i];
        const bool touched = journey.from == number || journey.to == number;
        if (journey.state == Journey::State::moving && touched) {
            transport_->cancel(now_, static_cast<RequestId>(i));
            journey.state = Journey::State::waiting;
        }
    }
    std::erase_if(loads_, [&](const OpenLoad& load) {
        if (load.to == number) {
            transport_->cancel(now_, load.request);
        }
        return load.to == number;
    });
    expect_transfer();
}

// The outage is noticed: its requests move to other instances.
void ServedRun::notice(std::size_t number, OutageEffect& effect) {
    ServedInstance& instance = instances_[number];
    Pool& pool = pools_[instance.pool()];
    known_down_[number] = true;
    std::vector<Pool::Parked> moved;
    for (const RequestId id : instance.scheduler().requests()) {
        const std::int64_t computed = instance.scheduler().computed_tokens(id);
        moved.push_back({.request = id, .part = part_elsewhere(id, computed, effect)});
        ++record_of(id).moves;
        ++effect.moved_requests;
    }
    instance.leave();
    list_available(pool);
    for (const Pool::Parked& one : moved) {
        send(instance.pool(), one.request, one.part);
    }
    if (instance.pool() == 0 && pools_.size() > 1) {
        lose_prompts(effect);
    }
}

// The part of a stopped instance's request that another instance must serve.
ServedPart ServedRun::part_elsewhere(RequestId id, std::int64_t computed, OutageEffect& effect) {
    Journey& journey = journey_of(id);
    if (journey.state == Journey::State::none) {  // its keys and values were computed here
        effect.lost_tokens += computed;
        return record_of(id).output_tokens > 0 ? ServedPart::whole
                                               : first_part(request_of(id));
    }
    const std::int64_t prompt = request_of(id).prompt_tokens;
    const bool there = source_is_there(journey);
    if (journey.state == Journey::State::waiting && there) {
        return ServedPart::after_prompt;
    }
    if (there && lost_cache_ == LostCache::copy) {
        effect.lost_tokens += std::max<std::int64_t>(0, computed - prompt);
        journey.state = Journey::State::waiting;
        journey.copy = true;
        wait_began_[number_of(id)] = now_;
        return ServedPart::after_prompt;
    }
    effect.lost_tokens += std::max(computed, prompt);
    wait_began_[number_of(id)] = Time::max();
    journey.state = Journey::State::arrived;
    return ServedPart::whole;
}

// Requests whose prompts were not pulled in time compute them where they generate.
void ServedRun::lose_prompts(OutageEffect& effect) {
    for (Pool::Parked& parked : pools_[1].parked) {
        if (has_lost_prompt(parked.request)) {
            lose_prompt(parked.request, effect);
            parked.part = ServedPart::whole;
        }
    }
    for (std::size_t i = 0; i < journeys_.size(); ++i) {
        const auto id = static_cast<RequestId>(i);
        if (has_lost_prompt(id)) {
            lose_prompt(id, effect);
            BatchScheduler& scheduler = instances_[journeys_[i].to].scheduler();
            scheduler.cancel(id);
            scheduler.submit(id, ServedPart::whole, record_of(id).output_tokens);
            wake(journeys_[i].to);
        }
    }
}
bool ServedRun::has_lost_prompt(RequestId id) {
    const bool waits = journey_of(id).state == Journey::State::waiting;
    return waits && !source_is_there(journey_of(id)) && !record_of(id).finished();
}
void ServedRun::lose_prompt(RequestId id, OutageEffect& effect) {
    journey_of(id).state = Journey::State::arrived;
    wait_began_[number_of(id)] = Time::max();
    effect.lost_tokens += request_of(id).prompt_tokens;
}

void ServedRun::restart(std::size_t number) {
    instances_[number].restart(now_);
    known_down_[number] = false;
    const std::size_t pool = instances_[number].pool();
    list_available(pools_[pool]);
    send_parked(pool);
}

}  // namespace orrery
