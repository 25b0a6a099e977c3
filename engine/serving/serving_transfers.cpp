// SPDX-License-Identifier: Apache-2.0
// Moves of keys and values: from prompts to the generating instances, and from the tiers below a
// cache.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/serving/served_run.h"

namespace orrery {

// The prompt is done. An instance of the other pool serves the rest.
void ServedRun::hand_over(RequestId id, std::size_t from) {
    if (leaves_by_layers(request_of(id))) {
        wait_began_[number_of(id)] = now_;
        return;
    }
    journey_of(id) = {
        .state = Journey::State::waiting, .from = from, .life = instances_[from].failures()};
    wait_began_[number_of(id)] = now_;
    send(1, id, ServedPart::after_prompt);
}

// An instance that has stopped since then has lost the keys and values.
bool ServedRun::source_is_there(const Journey& journey) const {
    return instances_[journey.from].failures() == journey.life;
}

void ServedRun::pull(std::size_t number) {
    accepted_.clear();
    instances_[number].scheduler().accept(accepted_);
    for (const RequestId id : accepted_) {
        Journey& journey = journey_of(id);
        if (!source_is_there(journey)) {
            continue;  // until the outage is noticed
        }
        journey.state = Journey::State::moving;
        if (record_of(id).output_tokens > 0) {
            record_of(id).cache_wait += end_wait(id);
            wait_began_[number_of(id)] = now_;
        }
        if (leaves_by_layers(request_of(id))) {
            send_ready(id);
            continue;
        }
        transport_->start(now_,
                          id,
                          journey.from - pools_[0].first,
                          journey.to - pools_[1].first,
                          {.end = request_of(id).prompt_tokens});
    }
    if (!accepted_.empty()) {
        expect_transfer();
    }
}

void ServedRun::expect_transfer() {
    ++transfer_generation_;
    const Time end = transport_->next_end();
    if (end != Time::max()) {
        events_.schedule(end, kTransfer, transfer_generation_);
    }
}

void ServedRun::end_transfers() {
    ended_.clear();
    transport_->pop_ended(now_, ended_);
    for (const RequestId id : ended_) {
        if (end_load(id)) {
            continue;
        }
        if (leaves_by_layers(request_of(id))) {
            end_part(id);
        } else {
            end_move(id);
        }
    }
    expect_transfer();
}

void ServedRun::end_move(RequestId id) {
    Journey& journey = journey_of(id);
    journey.state = Journey::State::arrived;
    record_of(id).cache_move += end_wait(id);
    if (streams_from_generation_) {
        joining_.push_back({.request = id, .to = journey.to});
    }
    if (!journey.copy) {
        instances_[journey.from].scheduler().release(id);
    }
    instances_[journey.to].scheduler().arrived(id);
    wake(journey.from);
    wake(journey.to);
}

// Sends the first tokens of the requests that join the step of a generating instance.
void ServedRun::send_first_tokens(std::size_t number) {
    std::erase_if(joining_, [&](const Joining& one) {
        if (one.to != number) {
            return false;
        }
        if (record_of(one.request).output_tokens == 1) {
            const Time seen = responses_.through(number, now_, 0, 1, false).value_or(now_);
            record_of(one.request).first_token = last_token_[number_of(one.request)] = seen;
        }
        return true;
    });
}

void ServedRun::start_load(const SequenceLoad& load, std::size_t to) {
    loads_.push_back({.request = load.request, .to = to, .held = instances_[to].is_held()});
    transport_->load(now_, load, to);
}

// False if the request has no load.
bool ServedRun::end_load(RequestId id) {
    const auto load = std::ranges::find(loads_, id, &OpenLoad::request);
    if (load == loads_.end()) {
        return false;
    }
    const OpenLoad ended = *load;
    loads_.erase(load);
    if (!ended.held) {
        instances_[ended.to].scheduler().arrived(id);
        wake(ended.to);
    } else if (const auto begun = instances_[ended.to].load_ended(now_)) {
        expect_step(ended.to, *begun);
    }
    return true;
}

// Cancels the load of a sequence that was preempted before its blocks arrived.
void ServedRun::cancel_load(RequestId id) {
    const auto load = std::ranges::find(loads_, id, &OpenLoad::request);
    if (load != loads_.end()) {
        ORRERY_CHECK(!load->held);
        loads_.erase(load);
        transport_->cancel(now_, id);
        expect_transfer();
    }
}

}  // namespace orrery
