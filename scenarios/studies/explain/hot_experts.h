// SPDX-License-Identifier: Apache-2.0
// Which rank has most rows of tokens where a router's loads are uneven, and how long the step would
// take if all had equally many.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/result.h"
#include "engine/units.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct HotExperts {
    std::int64_t layer = 0;  // where the load is most uneven
    std::int64_t rank = 0;   // of the ranks that share its experts
    std::int64_t ranks = 1;
    double over_mean = 1;       // its rows over the mean
    double mean_over_mean = 1;  // of the busiest rank, in the mean of the layers with experts
    double dropped = 0;         // share of all rows that a capacity drops, of all layers
    Time balanced;              // the step with equal loads
};

// None if loads are equal.
std::optional<HotExperts> busiest_experts(const Scenario& scenario);

// The same with the step of equal loads, on the scenario's own network.
Result<std::optional<HotExperts>> hot_experts(const Scenario& scenario);

}  // namespace orrery
