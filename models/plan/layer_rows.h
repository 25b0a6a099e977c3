// SPDX-License-Identifier: Apache-2.0
// How the rows of a layer with experts spread over its ranks in a step.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/ids.h"

namespace orrery {

// All micro-batches together.
struct LayerRows {
    std::int64_t layer = 0;
    RoleId role{};
    RankId busiest{};         // whose sum over the micro-batches is largest
    double most = 1;          // its sum over the mean
    double mean_of_most = 1;  // of a draw's busiest rank over the draw's mean, in the mean of draws
    double dropped = 0;       // share of all rows
    std::vector<double> of_experts{};  // by expert: over the mean
};

}  // namespace orrery
