// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/serving_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/serving/run_clock.h"
#include "engine/serving/served_run.h"

namespace orrery {

void CacheTransport::load(Time, const SequenceLoad&, std::size_t) {
    ORRERY_CHECK(false);  // a run without tiers has no loads
}

ServedRun::ServedRun(const std::vector<Request>& requests,
                     const ServingLoad& load,
                     const ServingFaults& faults,
                     const ServingParts& parts)
    : requests_(requests),
      lost_cache_(faults.lost_cache),
      changes_(instance_timeline(faults)),
      closed_(load.users > 0),
      front_end_(load.front_end, load.front_end_token, load.front_ends, requests.size()),
      responses_(load.response, load.stream_interval),
      slow_gaps_(load.slow_gaps),
      token_gaps_(load.token_gaps),
      bounds_(load.bounds),
      progress_(load.progress),
      parts_(parts) {
    result_.records.resize(requests.size());
    result_.outages.resize(faults.outages.size());
    last_token_.resize(requests.size());
    wait_began_.resize(requests.size(), Time::max());
    journeys_.resize(requests.size());
    gaps_.resize(slow_gaps_ ? requests.size() : 0);
    list_workflows();
    expect_change();
    if (!closed_ && !requests.empty()) {
        events_.schedule(through_front_end(requests.front().arrival, 0), kArrival, 0);
    }
    for (std::int64_t user = 0; closed_ && user < load.users; ++user) {
        expect_user(Time{});
    }
}

void ServedRun::add(const ServingPool& pool, RequestRouter& router) {
    ORRERY_CHECK(pool.num_instances > 0 && pool.cost != nullptr);
    const std::size_t first = instances_.size();
    for (std::size_t i = 0; i < pool.num_instances; ++i) {
        instances_.emplace_back(pool, pools_.size(), requests_, i);
        if (pools_.empty() && parts_.tiers != nullptr) {
            instances_.back().use({.tiers = parts_.tiers, .host = parts_.hosts.at(i)});
        }
        if (parts_.power.policy != nullptr) {
            instances_.back().meter(parts_.power);
        }
    }
    std::size_t smallest = first;
    for (std::size_t i = first; i < instances_.size(); ++i) {
        const auto blocks = [&](std::size_t one) {
            return instances_[one].scheduler().limits().num_blocks;
        };
        smallest = blocks(i) < blocks(smallest) ? i : smallest;
    }
    pools_.push_back(
        {.first = first, .end = instances_.size(), .smallest = smallest, .router = &router});
    known_down_.resize(instances_.size());
}

void ServedRun::remember_prompts() {
    const Pool& pool = pools_.front();
    std::size_t next = pool.first;
    for (const Request& request : requests_) {
        if (request.repeated) {
            instances_[next].scheduler().remember(request);
            next = next + 1 == pool.end ? pool.first : next + 1;
        }
    }
}

ServingResult ServedRun::run() {
    remember_prompts();
    begin_scaling();
    begin_power();
    for (Pool& pool : pools_) {
        list_available(pool);
    }
    while (!events_.empty() && !result_.gave_up) {
        const Event event = events_.pop();
        // Ends of transfers that have changed since have an old generation.
        if (event.target == kTransfer && event.generation != transfer_generation_) {
            continue;
        }
        const bool of_requests =
            event.target < kClocks || event.target == kArrival || event.target == kTransfer;
        if (!of_requests && is_over()) {
            continue;  // no request is left that this could affect
        }
        if (event.time > kLastInstant) {
            result_.out_of_time = true;
            break;
        }
        ++result_.events;
        pass_to(event.time);
        handle(event);
    }
    end_scaling();
    end_power();
    for (const ServedInstance& instance : instances_) {
        const BatchScheduler& scheduler = instance.scheduler();
        ORRERY_CHECK(result_.out_of_time || result_.gave_up ||
                     scheduler.num_running() + scheduler.num_waiting() == 0);
        result_.instances.push_back(instance.totals());
    }
    return std::move(result_);
}

void ServedRun::handle(const Event& event) {
    switch (event.target) {
        case kArrival:
            return arrive();
        case kTransfer:
            return end_transfers();
        case kChange:
            return change();
        case kScale:
            return scale();
        case kPower:
            return ask_power();
        case kClocks:
            return arrive_clocks(event.generation);
        case kAnswered:
            return end_request(static_cast<RequestId>(event.generation));
        case kStarted:
            return start_serving(event.generation);
        case kLayers:
            return depart(event.generation);
        default:
            return work(event.target);
    }
}

void ServedRun::pass_to(Time time) {
    result_.request_picoseconds += static_cast<__int128>((time - now_).picoseconds()) * in_system_;
    now_ = time;
}

void ServedRun::list_available(Pool& pool) {
    pool.available.clear();
    pool.schedulers.clear();
    for (std::size_t i = pool.first; i < pool.end; ++i) {
        if (!known_down_[i] && lives_[i] == Life::serving) {
            pool.available.push_back(i);
            pool.schedulers.push_back(&instances_[i].scheduler());
        }
    }
}

Time ServedRun::through_front_end(Time arrival, std::size_t request) {
    return front_end_.through(arrival, request < arriving_ ? requests_[request].prompt_tokens : 0);
}

void ServedRun::expect_user(Time arrival) {
    events_.schedule(through_front_end(arrival, next_ + sent_.size()), kArrival, 0);
    sent_.push_back(arrival);
}

// All requests of one instant are queued before any step is chosen.
void ServedRun::arrive() {
    if (closed_) {
        sent_now_ = sent_.front();
        sent_.pop_front();
        send_next();
        return;
    }
    Time queued = now_;
    while (next_ < arriving_ && queued == now_) {
        sent_now_ = requests_[next_].arrival;
        send_next();
        if (next_ < arriving_) {
            queued = through_front_end(requests_[next_].arrival, next_);
        }
    }
    if (next_ < arriving_) {
        events_.schedule(queued, kArrival, 0);
    }
}

ServedPart ServedRun::first_part(const Request& request) const {
    return pools_.size() > 1 && request.output_tokens > 1 ? ServedPart::prompt : ServedPart::whole;
}

bool ServedRun::fits_somewhere(const Request& request) const {
    const ServedPart part = first_part(request);
    const auto fits = [&](std::size_t pool, ServedPart of) {
        return instances_[pools_[pool].smallest].scheduler().fits(request, of);
    };
    return fits(0, part) && (part == ServedPart::whole || fits(1, ServedPart::after_prompt));
}

// In a closed load, the user of a refused request sends the next one instead.
void ServedRun::send_next() {
    while (next_ < arriving_) {
        if (send_one(static_cast<RequestId>(next_++), now_ - sent_now_) || !closed_) {
            return;
        }
    }
}

bool ServedRun::send_one(RequestId id, Time since_arrival) {
    const Request& request = request_of(id);
    since_arrival += request.encoding;
    record_of(id).arrival = now_ - since_arrival;
    record_of(id).refused = !fits_somewhere(request);
    if (!record_of(id).refused && pools_[0].available.empty()) {
        pools_[0].parked.push_back({.request = id, .part = first_part(request)});
    } else if (!record_of(id).refused) {
        const std::size_t to = choose(0, id);
        ++pools_[0].arrivals;
        record_of(id).rejected = record_of(id).refused = !admits(id, to);
        if (!record_of(id).refused) {
            submit(to, id, first_part(request));
        }
    }
    if (record_of(id).refused) {
        refuse_workflow(request.workflow);
        return false;
    }
    ++in_system_;
    result_.request_picoseconds += since_arrival.picoseconds();
    return true;
}

std::size_t ServedRun::choose(std::size_t pool, RequestId id) {
    Pool& of = pools_[pool];
    return of.available[of.router->choose(request_of(id), of.schedulers)];
}

void ServedRun::submit(std::size_t to, RequestId id, ServedPart part) {
    journey_of(id).to = to;
    // If layers leave early, the prompt's first token does not exist yet.
    const std::int64_t tokens = record_of(id).output_tokens;
    const std::int64_t generated =
        part == ServedPart::after_prompt ? std::max<std::int64_t>(1, tokens) : tokens;
    instances_[to].scheduler().submit(id, part, generated);
    wake(to);
}

void ServedRun::send(std::size_t pool, RequestId id, ServedPart part) {
    ++pools_[pool].arrivals;
    if (pools_[pool].available.empty()) {
        pools_[pool].parked.push_back({.request = id, .part = part});
    } else {
        submit(choose(pool, id), id, part);
    }
}

void ServedRun::send_parked(std::size_t pool) {
    std::vector<Pool::Parked> parked;
    std::swap(parked, pools_[pool].parked);
    for (const Pool::Parked& one : parked) {
        send(pool, one.request, one.part);
    }
}

bool ServedRun::admits(RequestId id, std::size_t to) {
    if (parts_.admission == nullptr) {
        return true;
    }
    const Request& request = request_of(id);
    return parts_.admission->admits(
        {.first_token = parts_.estimates.at(0)->first_token(request, instances_[to].scheduler()),
         .output_token = request.output_tokens > 1 ? predicted_output_token(request) : Time{}});
}

// The prediction for the fastest generating instance with this request. Prompts that are pending
// now will generate, too, when this prompt is done; each instance gets an equal share of them.
Time ServedRun::predicted_output_token(const Request& request) const {
    const Pool& last = pools_.back();
    std::int64_t before = 0;
    for (const BatchScheduler* scheduler : pools_.front().schedulers) {
        // With departures by layers, running prompts already count as generating.
        before +=
            layer_wise_ > 0 ? scheduler->num_waiting() : std::ssize(scheduler->pending_prompts());
    }
    const std::int64_t coming = 1 + before / std::max<std::int64_t>(1, std::ssize(last.schedulers));
    Time least = Time::max();
    for (const BatchScheduler* scheduler : last.schedulers) {
        Generating all = scheduler->generating();
        all.sequences += coming;
        all.context += coming * request.prompt_tokens;
        least = std::min(least, parts_.estimates.back()->generation(all));
    }
    return last.schedulers.empty() ? Time{} : least;
}

void ServedRun::work(std::size_t number) {
    ServedInstance& instance = instances_[number];
    while (instance.ends(now_)) {
        complete(number);
    }
    // An instance that sends the first token looks at its queue between steps only, and what it
    // finds there waits for the step after the transfer (TensorRT-LLM, _torch/pyexecutor/
    // py_executor.py: _prepare_and_schedule_batch; SGLang, srt/disaggregation/decode.py:
    // process_decode_queue).
    const bool looks = !streams_from_generation_ || instance.is_between_steps();
    if (pools_.size() > 1 && instance.pool() == 1 && !instance.is_down() && looks) {
        pull(number);
    }
    begin(number);
    end_drain(number);
}

void ServedRun::begin(std::size_t number) {
    ServedInstance& instance = instances_[number];
    const auto begun = instance.begin(now_, chosen_);
    for (const RequestId id : chosen_.preempted) {
        ++record_of(id).preemptions;
        if (record_of(id).output_tokens > 0) {
            wait_began_[number_of(id)] = now_;
        }
        cancel_load(id);
    }
    for (const RequestId id : chosen_.admitted) {
        RequestRecord& record = record_of(id);
        if (record.first_scheduled == Time::max()) {
            record.first_scheduled = now_;
            record.cached_tokens = instance.scheduler().cached_tokens(id);
            record.loaded_tokens = instance.scheduler().loaded_tokens(id);
        }
        record.preempted += end_wait(id);
    }
    for (const SequenceLoad& load : chosen_.loads) {
        start_load(load, number);
    }
    if (!chosen_.loads.empty()) {
        expect_transfer();
    }
    if (begun && !joining_.empty()) {
        send_first_tokens(number);
    }
    if (begun && !instance.is_held()) {
        expect_step(number, *begun);
    }
}

void ServedRun::expect_step(std::size_t number, const ServedInstance::Begun& begun) {
    const auto target = static_cast<std::uint32_t>(number);
    events_.schedule(begun.end, target, 0);
    if (begun.first_stage_free != begun.end) {
        events_.schedule(begun.first_stage_free, target, 0);
    }
    if (layer_wise_ > 0 && instances_[number].pool() == 0) {
        expect_layers(number, begun);
    }
}

ServingResult serve(const std::vector<Request>& requests,
                    const ServingLoad& load,
                    const ServingPool& pool,
                    RequestRouter& router,
                    const ServingFaults& faults,
                    const ServingParts& parts) {
    ORRERY_CHECK(parts.tiers == nullptr || parts.loads != nullptr);
    ServedRun run(requests, load, faults, parts);
    run.add(pool, router);
    run.use(parts.loads);
    return run.run();
}

ServingResult serve(const std::vector<Request>& requests,
                    const ServingLoad& load,
                    const SplitPools& pools,
                    RequestRouter& prompt_router,
                    RequestRouter& generation_router,
                    const ServingFaults& faults,
                    const ServingParts& parts) {
    ORRERY_CHECK(pools.transport != nullptr);
    ServedRun run(requests, load, faults, parts);
    run.add(pools.prompts, prompt_router);
    run.add(pools.generation, generation_router);
    run.use(pools.transport);
    ORRERY_CHECK(pools.layer_wise_tokens == 0 || faults.outages.empty());
    run.leave_layer_by_layer(pools.layer_wise_tokens);
    run.stream_from_generation(pools.streams_from_generation);
    return run.run();
}

}  // namespace orrery
