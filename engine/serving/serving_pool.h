// SPDX-License-Identifier: Apache-2.0
// Instances that serve alike, what a step of them costs, and what they did.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/serving/batch_scheduler.h"

namespace orrery {

// What a step costs; models/serving/serving_step.h prices it by the model's kernels.
class StepCost {
public:
    virtual ~StepCost() = default;
    // Pipeline stages of an instance. Each stage may have a batch.
    virtual std::size_t num_stages() const { return 1; }
    // The time of each stage for this batch, which has steps. `stages` has num_stages() entries.
    virtual void times(const Batch& batch, std::vector<Time>& stages) = 0;
    // What the first stage takes besides, `steps` steps after the instance had nothing to compute.
    virtual Time after_idling(std::int64_t steps) const;
};

inline Time StepCost::after_idling(std::int64_t) const {
    return {};
}

struct ServingPool {
    std::size_t num_instances = 1;
    std::int64_t gpus = 1;  // of an instance
    BatchingRules rules;
    SchedulerLimits limits;
    StepCost* cost = nullptr;  // of each instance; outlives the run
    std::int64_t layers = 1;   // of the model
    // Of instances that are not alike, each: in place of `cost`, and of the limits' num_blocks and
    // relative_time. Empty: all are alike.
    struct Instance {
        StepCost* cost = nullptr;
        std::int64_t num_blocks = 0;
        double relative_time = 1;
    };
    std::vector<Instance> instances{};
    // The same at this share of the highest clock, where clocks are set; else null.
    StepCost* slower_cost = nullptr;
    double slower_clock = 1;
    // Probability that a proposed token is the one that the model samples, given that those before
    // it were; drawn from streams of `seed`.
    double acceptance = 0;
    std::uint64_t seed = 0;
};

struct InstanceTotals {
    Time busy;  // that stage 0 computed
    std::int64_t batches = 0;
    std::int64_t computed_tokens = 0;  // proposals among them
    std::int64_t drafted_tokens = 0;
    std::int64_t accepted_tokens = 0;
    std::int64_t most_blocks = 0;  // of the cache in use
    Time exposed_loads;            // that steps took longer because they waited for loads
};

}  // namespace orrery
