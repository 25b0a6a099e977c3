// SPDX-License-Identifier: Apache-2.0
// The distribution of rows of tokens over the ranks of a layer with experts, in one step.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/ids.h"

namespace orrery {

// Sums over all micro-batches.
struct LayerRows {
    std::int64_t layer = 0;
    RoleId role{};
    RankId busiest{};  // the rank with the largest sum over the micro-batches
    double most = 1;   // its sum over the mean of the ranks
    // For each draw the busiest rank's rows over the draw's mean; then the mean over draws
    double mean_of_most = 1;
    double dropped = 0;                // share of all rows that is dropped
    std::vector<double> of_experts{};  // by expert: its rows over the mean
};

}  // namespace orrery
