// SPDX-License-Identifier: Apache-2.0
// Predicted times of the instances of a pool, for policies. Steps have the prices of the run, but
// each request is taken by itself.
#pragma once

#include "engine/serving/serving_pool.h"

namespace orrery {

class StepEstimates {
public:
    // `cost` and `limits` are those of the pool. `load_of_token` is the time per token to load from
    // a tier below the cache without other transfers.
    StepEstimates(StepCost& cost,
                  const SchedulerLimits& limits,
                  std::int64_t layers,
                  Time load_of_token = {});

    // A prompt alone, in chunks of the largest size of a step.
    Time prompt(const PendingPrompt& prompt);
    // All prompts that an instance has before a new one, and half of its steps in flight.
    Time queued(const BatchScheduler& instance);
    // The time from now to the first token of a new request on the instance: Algorithm 1 of
    // Mooncake (Qin et al., FAST 2025). Blocks that a tier has and the cache lacks are loaded while
    // the rest is computed.
    Time first_token(const Request& request, const BatchScheduler& instance);
    // A step in which all these sequences generate.
    Time generation(const Generating& sequences);

private:
    Time time_of(const SequenceStep& step);

    StepCost& cost_;
    SchedulerLimits limits_;
    std::int64_t layers_;
    Time load_of_token_;
    std::vector<Time> stages_;
};

}  // namespace orrery
