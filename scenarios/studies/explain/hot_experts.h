// SPDX-License-Identifier: Apache-2.0
// Which rank has most rows of tokens where a router's loads are uneven, and how long the step would
// take if all had equally many.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/base/units.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct HotExperts {
    std::int64_t layer = 0;  // where micro-batches are most uneven
    RankId rank{};           // the busiest there over the step
    double over_mean = 1;    // its rows over the mean
    double worst = 1;        // the busiest rank of one of its micro-batches, in their mean
    double mean_worst = 1;   // the same in the mean of the layers with experts
    double dropped = 0;      // share of all rows that a capacity drops, of all layers
    RankId busiest{};        // over all layers of its stage
    double busiest_over_mean = 1;
    Time balanced;  // the step with equal loads
};

// None if loads are equal.
std::optional<HotExperts> busiest_experts(const Answer& answer);

// The same with the step of equal loads, on the scenario's own network.
Result<std::optional<HotExperts>> hot_experts(const Scenario& scenario, const Answer& answer);

}  // namespace orrery
