// SPDX-License-Identifier: Apache-2.0
// The longest sequence, or the largest number of layers, that fits in the memory of a plan's
// devices and hosts. No time is simulated.
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
    MemoryUse memory;  // at that size
    MemoryUse beyond;  // at the smallest size that does not fit
    // Memory has room for more, and the 32-bit offsets of norms do not reach it
    // (plan.norm_32_bit_offsets); `beyond` is empty.
    bool ends_with_offsets = false;
};

// The memory in a step of the scenario. If a plan alone does not fit, the overheads are left out.
// Error: the network cannot be built.
Result<MemoryUse> memory_of_step(const Scenario& scenario);

// The largest size that fits, within 1 %, if memory grows with size. An error if the smallest size
// does not fit, or if a rule of plans refuses it.
Result<LargestFit> largest_fit(const Scenario& scenario, FitOf what);

// The largest number of layers with the job's state on its devices, or moved step by step to other
// tiers.
struct TierFit {
    std::string where;             // "gradients in host memory, too"
    std::vector<std::string> set;  // keys of the plan, in the form of --set
    std::int64_t layers = 0;       // 0: see `why`
    std::int64_t parameters = 0;
    std::string why;
};
std::vector<TierFit> layers_by_tier(const Scenario& scenario);

}  // namespace orrery
