// SPDX-License-Identifier: Apache-2.0
// The number of tokens of a step that chose each expert of each layer, and that each expert
// accepted, over all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/executor.h"

namespace orrery {

struct ExpertLoad {
    std::int64_t layer = 0;
    std::vector<std::int64_t> chosen;  // by expert
    std::vector<std::int64_t> taken;   // accepted tokens; the others were dropped
};

// The loads of the last step, by layer; empty if the model has no experts. All ranks call it
// together.
Result<std::vector<ExpertLoad>> expert_loads(Executor& executor);

// A layer's largest load over its mean, and the share of dropped tokens.
struct LoadSummary {
    double max_over_mean = 1;  // maximum over the layers
    double dropped = 0;        // over all layers
};
LoadSummary summary_of(const std::vector<ExpertLoad>& loads);
// [{"layer":0,"chosen":[…],"taken":[…]},…]
std::string json_of(const std::vector<ExpertLoad>& loads);

}  // namespace orrery
