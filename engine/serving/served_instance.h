// SPDX-License-Identifier: Apache-2.0
// An instance in simulated time: its scheduler, its batches under way, and what faults do to it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/serving/batch_scheduler.h"
#include "engine/serving/serving_pool.h"

namespace orrery {

class ServedInstance {
public:
    // `requests` outlives it. `pool` is the number of its pool.
    ServedInstance(const ServingPool& of,
                   std::size_t pool,
                   const std::vector<Request>& requests);

    BatchScheduler& scheduler() { return *scheduler_; }
    const BatchScheduler& scheduler() const { return *scheduler_; }
    const InstanceTotals& totals() const { return totals_; }
    std::size_t pool() const { return pool_; }

    // A step that has begun. The first stage is free again at `first_stage_free`.
    struct Begun {
        Time end;
        Time first_stage_free;
        const Batch* batch = nullptr;  // valid until complete()
    };
    // The next step, if there is one and a stage is free for it. `preempted` gets the requests that
    // gave up their blocks, whether a step begins or not.
    std::optional<Begun> begin(Time now, std::vector<RequestId>& preempted);
    // Whether the oldest step under way ends now.
    bool ends(Time now) const { return !under_way_.empty() && under_way_.front().end == now; }
    // Completes that step; `sampled` gets the tokens.
    void complete(std::vector<Sampled>& sampled);

    // --- faults ---
    bool is_down() const { return down_; }
    // How often it has stopped: a cache of an earlier life is gone.
    std::uint32_t failures() const { return failures_; }
    void stop();
    // Takes all requests, running ones first. Its cache is empty then.
    std::vector<RequestId> leave();
    void restart(Time now);
    void slow_down(double factor) { factor_ = factor; }

private:
    struct UnderWay {
        Batch batch;
        Time end;
    };
    void count(const Batch& batch);
    // Proposals up to the first rejected one.
    void accept_proposals(Batch& batch);

    BatchingRules rules_;
    SchedulerLimits limits_;
    const std::vector<Request>* requests_;
    std::unique_ptr<BatchScheduler> scheduler_;
    StepCost* cost_;
    std::size_t pool_;
    double acceptance_;
    std::uint64_t seed_;
    std::deque<UnderWay> under_way_;
    std::vector<Time> stage_free_;
    std::vector<Time> stages_;
    InstanceTotals totals_;
    bool down_ = false;
    std::uint32_t failures_ = 0;
    double factor_ = 1;
};

}  // namespace orrery
