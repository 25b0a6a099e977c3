// SPDX-License-Identifier: Apache-2.0
// What instances of a pool will take, as a policy predicts it before it decides: steps are priced
// as the run prices them, each request by itself.
#pragma once

#include "engine/serving/serving_pool.h"

namespace orrery {

class StepEstimates {
public:
    // `cost` and `limits` are a pool's. `load_of_token`: of a token that comes from a tier below
    // the cache, while nothing else moves.
    StepEstimates(StepCost& cost,
                  const SchedulerLimits& limits,
                  std::int64_t layers,
                  Time load_of_token = {});

    // A prompt alone, in chunks as large as a step may have.
    Time prompt(const PendingPrompt& prompt);
    // All prompts that an instance has before a new one, and half of what is under way.
    Time queued(const BatchScheduler& instance);
    // From now to the first token of a new request there: Algorithm 1 of Mooncake (Qin et al., FAST
    // 2025). Blocks that the instance's cache lacks and a tier has are loaded behind the
    // computation of the rest.
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
