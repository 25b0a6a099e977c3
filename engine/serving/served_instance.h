// SPDX-License-Identifier: Apache-2.0
// An instance in simulated time: its scheduler, its batches in flight, and the effects of faults.
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
    // `requests` must outlive it. `pool` is the index of its pool, `number` its index in the pool.
    ServedInstance(const ServingPool& of,
                   std::size_t pool,
                   const std::vector<Request>& requests,
                   std::size_t number = 0);

    // Adds tiers in which its prompts find blocks. Call it before the first request.
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
    // The scheduler's decisions, whether a step begins or not.
    struct Chosen {
        std::vector<RequestId> preempted;
        std::vector<RequestId> admitted;
        std::vector<SequenceLoad> loads;
    };
    // Begins the next step if there is one and a stage is free. No value while the step waits for
    // loads; then load_ended() returns it.
    std::optional<Begun> begin(Time now, Chosen& chosen);
    // A load that a step waits for has ended or was cancelled. If it was the last one, returns the
    // step with its end. With L layers, computation of a layer starts after the first layer's
    // blocks have arrived, and the last layer is computed after its blocks
    // (engine/serving/layer_wise.h).
    std::optional<Begun> load_ended(Time now);
    // Whether the oldest step in flight ends now.
    bool ends(Time now) const { return !under_way_.empty() && under_way_.front().end == now; }
    bool is_between_steps() const { return under_way_.empty(); }
    // Whether a step waits for loads.
    bool is_held() const { return open_loads_ > 0; }
    // The oldest step in flight, without the index of its instance.
    ServedStep oldest_step() const;
    const Batch& oldest_batch() const { return under_way_.front().batch; }
    std::int64_t layers() const { return layers_; }
    // Completes the oldest step and appends its tokens to `sampled`.
    void complete(std::vector<Sampled>& sampled);

    // --- faults ---
    bool is_down() const { return down_; }
    // The number of stops: a cache from before a stop is lost.
    std::uint32_t failures() const { return failures_; }
    void stop();
    // Removes and returns all requests, running ones first. The cache is then empty.
    std::vector<RequestId> leave();
    void restart(Time now);
    void slow_down(double factor) { factor_ = factor; }

    // --- power ---
    // Starts counting energy and enables set_clock(). `row` must outlive it.
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
    void start_up();
    // Computes the times of the stages at the present clock.
    void time_stages(const Batch& batch);
    // Accepts proposals up to the first rejected one.
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
    CompiledKernels compiled_;
    // Steps since it last had nothing to compute, before the last one
    std::int64_t steps_awake_ = -1;
    std::size_t open_loads_ = 0;  // loads that the last step in flight waits for
    Time computed_end_;           // end of that step without its loads
    InstanceTotals totals_;
    bool down_ = false;
    std::uint32_t failures_ = 0;
    double factor_ = 1;
    void meter_step(Time begin, Time end);
    StepCost* slower_cost_;
    double slower_clock_;
    const RowPower* row_ = nullptr;
    double clock_ = 1;
    double computation_ = 0;  // share of the last step that computation bounds
    Time metered_since_;      // begin of the last step; all energy before it is counted
    Time metered_until_;      // end of the last step
    double busy_watts_ = 0;
    double joules_ = 0;
    std::vector<Time> slower_;
};

}  // namespace orrery
