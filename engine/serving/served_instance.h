// SPDX-License-Identifier: Apache-2.0
// An instance in simulated time: its scheduler, its batches under way, and what faults do to it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/serving/batch_scheduler.h"
#include "engine/serving/power_policy.h"
#include "engine/serving/serving_observer.h"
#include "engine/serving/serving_pool.h"

namespace orrery {

class ServedInstance {
public:
    // `requests` outlives it. `pool` is the number of its pool, and `number` its own in there.
    ServedInstance(const ServingPool& of,
                   std::size_t pool,
                   const std::vector<Request>& requests,
                   std::size_t number = 0);

    // Its prompts find blocks in these tiers, too. Before the first request.
    void use(const TierView& below);
    BatchScheduler& scheduler() { return *scheduler_; }
    const BatchScheduler& scheduler() const { return *scheduler_; }
    const InstanceTotals& totals() const { return totals_; }
    std::size_t pool() const { return pool_; }

    // A step that has begun. The first stage is free again at `first_stage_free`.
    struct Begun {
        Time begin;
        Time end;
        Time first_stage_free;
        const Batch* batch = nullptr;  // valid until complete()
    };
    // What the scheduler chose, whether a step begins or not.
    struct Chosen {
        std::vector<RequestId> preempted;
        std::vector<RequestId> admitted;
        std::vector<SequenceLoad> loads;
    };
    // The next step, if there is one and a stage is free for it. Without an end while it waits for
    // loads: load_ended().
    std::optional<Begun> begin(Time now, Chosen& chosen);
    // A load has ended, or was given up, that a step waits for: if it was the last one, the step
    // has an end. Of L layers the first one's blocks must be there before a layer is computed, and
    // the last layer is computed after its blocks have come (engine/serving/layer_wise.h).
    std::optional<Begun> load_ended(Time now);
    // Whether the oldest step under way ends now.
    bool ends(Time now) const { return !under_way_.empty() && under_way_.front().end == now; }
    // Whether a step waits for loads.
    bool is_held() const { return open_loads_ > 0; }
    // That step, without the number of its instance.
    ServedStep oldest_step() const;
    const Batch& oldest_batch() const { return under_way_.front().batch; }
    std::int64_t layers() const { return layers_; }
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

    // --- power ---
    // Counted from now on, and clocks may be set. The row outlives it.
    void meter(const RowPower& row) { row_ = &row; }
    void set_clock(double clock) { clock_ = clock; }
    // Since the start of the run.
    double joules(Time now) const;

private:
    struct UnderWay {
        Batch batch;
        Time begin;
        Time end;
        Time first_stage_end{};
    };
    void count(const Batch& batch);
    // The times of the stages at the present clock.
    void time_stages(const Batch& batch);
    // Proposals up to the first rejected one.
    void accept_proposals(Batch& batch);

    BatchingRules rules_;
    SchedulerLimits limits_;
    const std::vector<Request>* requests_;
    std::unique_ptr<BatchScheduler> scheduler_;
    StepCost* cost_;
    TierView below_;
    std::size_t pool_;
    std::int64_t layers_;
    double gpus_;
    double acceptance_;
    std::uint64_t seed_;
    std::deque<UnderWay> under_way_;
    std::vector<Time> stage_free_;
    std::vector<Time> stages_;
    std::int64_t steps_awake_ = -1;  // before the last one, since it had nothing to compute
    std::size_t open_loads_ = 0;     // that the last step under way waits for
    Time computed_end_;              // of that step, without its loads
    InstanceTotals totals_;
    bool down_ = false;
    std::uint32_t failures_ = 0;
    double factor_ = 1;
    void meter_step(Time begin, Time end);
    StepCost* slower_cost_;
    double slower_clock_;
    const RowPower* row_ = nullptr;
    double clock_ = 1;
    double computation_ = 0;  // share of the last step that computation binds
    Time metered_since_;  // the begin of the last step; all energy before it is counted
    Time metered_until_;  // its end
    double busy_watts_ = 0;
    double joules_ = 0;
    std::vector<Time> slower_;
};

}  // namespace orrery
