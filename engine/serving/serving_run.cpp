// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/serving_run.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "engine/check.h"
#include "engine/event_queue.h"

namespace orrery {

namespace {

struct UnderWay {
    Batch batch;
    Time end;
};

struct Instance {
    std::unique_ptr<BatchScheduler> scheduler;
    std::deque<UnderWay> under_way;
    std::vector<Time> stage_free;
    InstanceTotals totals;
};

class Run {
public:
    Run(const std::vector<Request>& requests,
        const ServingLoad& load,
        const ServingPool& pool,
        RequestRouter& router)
        : requests_(requests), closed_(load.users > 0), pool_(pool), router_(router) {
        result_.records.resize(requests.size());
        last_token_.resize(requests.size());
        instances_.resize(pool.num_instances);
        for (Instance& instance : instances_) {
            instance.scheduler =
                std::make_unique<BatchScheduler>(pool.rules, pool.limits, requests);
            instance.stage_free.resize(pool.cost->num_stages());
            schedulers_.push_back(instance.scheduler.get());
        }
        stages_.resize(pool.cost->num_stages());
        if (!closed_ && !requests.empty()) {
            events_.schedule(requests.front().arrival, kArrival, 0);
        }
        for (std::int64_t user = 0; closed_ && user < load.users; ++user) {
            events_.schedule(Time{}, kArrival, 0);
        }
    }

    ServingResult run() {
        while (!events_.empty()) {
            const Event event = events_.pop();
            ++result_.events;
            pass_to(event.time);
            if (event.target == kArrival) {
                arrive();
            } else {
                work(instances_[event.target]);
            }
        }
        for (const Instance& instance : instances_) {
            ORRERY_CHECK(instance.scheduler->num_running() + instance.scheduler->num_waiting() ==
                         0);
            result_.instances.push_back(instance.totals);
        }
        return std::move(result_);
    }

private:
    static constexpr std::uint32_t kArrival = ~std::uint32_t{0};

    void pass_to(Time time) {
        result_.request_picoseconds +=
            static_cast<__int128>((time - now_).picoseconds()) * in_system_;
        now_ = time;
    }

    // Requests that come at one instant are in the queues before any step is chosen.
    void arrive() {
        if (closed_) {
            send_next();
            return;
        }
        while (next_ < requests_.size() && requests_[next_].arrival == now_) {
            send_next();
        }
        if (next_ < requests_.size()) {
            events_.schedule(requests_[next_].arrival, kArrival, 0);
        }
    }

    // Of a closed load, the user whose request can never run sends the next one instead.
    void send_next() {
        while (next_ < requests_.size()) {
            const auto id = static_cast<RequestId>(next_);
            const Request& request = requests_[next_++];
            RequestRecord& record = result_.records[static_cast<std::size_t>(id)];
            record.arrival = now_;
            const std::size_t chosen = router_.choose(request, schedulers_);
            BatchScheduler& scheduler = *instances_[chosen].scheduler;
            if (scheduler.fits(request)) {
                ++in_system_;
                scheduler.submit(id);
                events_.schedule(now_, static_cast<std::uint32_t>(chosen), 0);
                return;
            }
            record.refused = true;
            if (!closed_) {
                return;
            }
        }
    }

    void work(Instance& instance) {
        while (!instance.under_way.empty() && instance.under_way.front().end == now_) {
            complete(instance);
        }
        begin(instance);
    }

    void begin(Instance& instance) {
        if (instance.stage_free.front() > now_ ||
            instance.under_way.size() == instance.stage_free.size()) {
            return;
        }
        Batch batch = instance.scheduler->next();
        for (const RequestId id : batch.preempted) {
            ++result_.records[static_cast<std::size_t>(id)].preemptions;
        }
        if (batch.steps.empty()) {
            return;
        }
        for (const RequestId id : batch.admitted) {
            RequestRecord& record = result_.records[static_cast<std::size_t>(id)];
            if (record.first_scheduled == Time::max()) {
                record.first_scheduled = now_;
                record.cached_tokens = instance.scheduler->cached_tokens(id);
            }
        }
        pool_.cost->times(batch, stages_);
        Time end = now_;
        for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
            end = std::max(end, instance.stage_free[stage]) + stages_[stage];
            instance.stage_free[stage] = end;
        }
        const BlockPool& blocks = instance.scheduler->pool();
        InstanceTotals& totals = instance.totals;
        totals.busy += stages_.front();
        ++totals.batches;
        totals.most_blocks = std::max(totals.most_blocks, blocks.num_blocks() - blocks.num_free());
        for (const SequenceStep& step : batch.steps) {
            totals.computed_tokens += step.new_tokens;
        }
        instance.under_way.push_back({.batch = std::move(batch), .end = end});
        const auto target = static_cast<std::uint32_t>(&instance - instances_.data());
        events_.schedule(end, target, 0);
        if (stages_.size() > 1) {
            events_.schedule(instance.stage_free.front(), target, 0);
        }
    }

    void complete(Instance& instance) {
        sampled_.clear();
        instance.scheduler->complete(instance.under_way.front().batch, sampled_);
        instance.under_way.pop_front();
        for (const Sampled& sampled : sampled_) {
            const auto id = static_cast<std::size_t>(sampled.request);
            RequestRecord& record = result_.records[id];
            if (record.output_tokens++ == 0) {
                record.first_token = now_;
            } else {
                const Time gap = now_ - last_token_[id];
                record.longest_gap = std::max(record.longest_gap, gap);
                result_.token_gaps.push_back(gap);
            }
            last_token_[id] = now_;
            if (sampled.finished) {
                record.last_token = now_;
                result_.end = now_;
                --in_system_;
                if (closed_) {
                    send_next();
                }
            }
        }
    }

    const std::vector<Request>& requests_;
    bool closed_;
    const ServingPool& pool_;
    RequestRouter& router_;
    std::vector<Instance> instances_;
    std::vector<const BatchScheduler*> schedulers_;  // of the instances
    EventQueue events_;
    ServingResult result_;
    std::vector<Time> last_token_;  // by request
    std::vector<Time> stages_;
    std::vector<Sampled> sampled_;
    std::size_t next_ = 0;
    std::int64_t in_system_ = 0;
    Time now_;
};

}  // namespace

ServingResult serve(const std::vector<Request>& requests,
                    const ServingLoad& load,
                    const ServingPool& pool,
                    RequestRouter& router) {
    ORRERY_CHECK(pool.num_instances > 0 && pool.cost != nullptr);
    return Run(requests, load, pool, router).run();
}

}  // namespace orrery
