// SPDX-License-Identifier: Apache-2.0
// How long a sequence, or how many layers, a plan holds in the memory of its devices and hosts. No
// time is simulated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

enum class FitOf : std::uint8_t {
    sequence,  // tokens, in multiples of 1,024 for each rank that shares a sequence
    layers,    // in multiples of the virtual stages
};

struct LargestFit {
    std::int64_t most = 0;
    MemoryUse memory;  // of that
    MemoryUse beyond;  // of the smallest that does not fit
};

// What lies in memory in a step of the scenario; of a plan that does not fit alone, without what
// lies beside it. Error: the network cannot be built.
Result<MemoryUse> memory_of_step(const Scenario& scenario);

// The most that fits if memory grows with it, within 1 %. An Error if the least does not fit, or a
// plan rule refuses it.
Result<LargestFit> largest_fit(const Scenario& scenario, FitOf what);

// The most layers if a job's state lies on its devices, or step by step further away.
struct TierFit {
    std::string where;             // "gradients in host memory, too"
    std::vector<std::string> set;  // keys of the plan, as --set takes them
    std::int64_t layers = 0;       // 0: `why`
    std::int64_t parameters = 0;
    std::string why;
};
std::vector<TierFit> layers_by_tier(const Scenario& scenario);

}  // namespace orrery
