// SPDX-License-Identifier: Apache-2.0
// Pools of equal instances, the cost of their steps, and their totals.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "engine/serving/batch_scheduler.h"

namespace orrery {

// Kernels that the processes of an instance have compiled. The StepCost defines the numbers of a
// kernel.
using CompiledKernels = std::set<std::array<std::int64_t, 6>>;

// The cost of a step. models/serving/serving_step.h prices it by the model's kernels.
class StepCost {
public:
    virtual ~StepCost() = default;
    // Pipeline stages of an instance; each may have a batch in flight.
    virtual std::size_t num_stages() const { return 1; }
    // Sets the time of each stage for a batch that is not empty. `stages` has num_stages() entries.
    virtual void times(const Batch& batch, std::vector<Time>& stages) = 0;
    // Additional time of the first stage, `steps` steps after the instance was idle.
    virtual Time after_idling(std::int64_t steps) const;
    // Kernels that an instance has when a run begins: those of its start, and those of a prompt of
    // `prompt` tokens.
    virtual CompiledKernels compiled_at_start(const SchedulerLimits& limits,
                                              std::int64_t prompt) const;
    // Time in which each stage compiles the kernels of a batch that `compiled` does not have.
    // Adds them.
    virtual Time compiling(const Batch& batch, CompiledKernels& compiled) const;
};

inline Time StepCost::after_idling(std::int64_t) const {
    return {};
}

inline CompiledKernels StepCost::compiled_at_start(const SchedulerLimits&, std::int64_t) const {
    return {};
}

inline Time StepCost::compiling(const Batch&, CompiledKernels&) const {
    return {};
}

struct ServingPool {
    std::size_t num_instances = 1;
    std::int64_t gpus = 1;  // per instance
    BatchingRules rules;
    SchedulerLimits limits;
    StepCost* cost = nullptr;  // of each instance; must outlive the run
    std::int64_t layers = 1;   // of the model
    // If not empty, the instances differ: values of each, in place of `cost`, and of the limits'
    // num_blocks and relative_time.
    struct Instance {
        StepCost* cost = nullptr;
        std::int64_t num_blocks = 0;
        double relative_time = 1;
    };
    std::vector<Instance> instances{};
    // The cost at `slower_clock`, a fraction of the highest clock, if clocks are set; else null.
    StepCost* slower_cost = nullptr;
    double slower_clock = 1;
    // Probability that a proposed token is accepted if all before it were, drawn from streams of
    // `seed`.
    double acceptance = 0;
    std::uint64_t seed = 0;
};

struct InstanceTotals {
    Time busy;  // time in which stage 0 computed
    std::int64_t batches = 0;
    std::int64_t computed_tokens = 0;  // including proposals
    std::int64_t drafted_tokens = 0;
    std::int64_t accepted_tokens = 0;
    std::int64_t most_blocks = 0;  // maximum of blocks in use
    Time exposed_loads;            // time by which waits for loads prolonged steps
};

}  // namespace orrery
