// SPDX-License-Identifier: Apache-2.0
// How many tokens of a step chose each expert of each layer, and how many each took, over all
// ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/executor.h"

namespace orrery {

struct ExpertLoad {
    std::int64_t layer = 0;
    std::vector<std::int64_t> chosen;  // by expert
    std::vector<std::int64_t> taken;   // the others were dropped
};

// Of the last step, by layer; empty if the model has no experts. All ranks ask together.
Result<std::vector<ExpertLoad>> expert_loads(Executor& executor);

// The largest of a layer's loads over its mean one, and the part of the tokens that was dropped.
struct LoadSummary {
    double max_over_mean = 1;  // of the worst layer
    double dropped = 0;        // of all layers
};
LoadSummary summary_of(const std::vector<ExpertLoad>& loads);
// [{"layer":0,"chosen":[…],"taken":[…]},…]
std::string json_of(const std::vector<ExpertLoad>& loads);

}  // namespace orrery
