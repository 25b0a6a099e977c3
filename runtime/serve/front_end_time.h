// SPDX-License-Identifier: Apache-2.0
// What a request of this machine's server takes beside its steps. A request that finds the server
// idle wakes it: the thread of the instance, the processes of other ranks, and caches of the CPU
// that other work has filled since the last step.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/result.h"
#include "engine/serving/batch_scheduler.h"
#include "runtime/serve/decode_step.h"
#include "runtime/serve/step_times.h"

namespace orrery {

struct FrontEndProbes {
    std::int64_t context = 1;  // tokens of a sequence at most
    std::int64_t vocabulary = 1;
    std::uint64_t seed = 0;
};

// Serves prompts of several lengths, each alone, and takes the median of what their first tokens
// need beyond the cost of their steps. Overwrites the cache.
Result<Time> measured_front_end(const BatchingRules& rules,
                                const SchedulerLimits& limits,
                                const std::vector<DecodeStep*>& instances,
                                const MeasuredStepCost& cost,
                                const FrontEndProbes& probes);

}  // namespace orrery
