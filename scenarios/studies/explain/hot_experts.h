// SPDX-License-Identifier: Apache-2.0
// The rank with most rows of tokens under a router's uneven loads, and the time of the step with
// even loads.
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
    std::int64_t layer = 0;  // the layer with the most uneven micro-batches
    RankId rank{};           // its busiest rank over the step
    double over_mean = 1;    // its rows over the mean
    // The busiest rank's rows in a micro-batch over the mean, averaged over micro-batches
    double worst = 1;
    double mean_worst = 1;  // the same, averaged over the layers with experts
    double dropped = 0;     // share of all layers' rows that a capacity drops
    RankId busiest{};       // over all layers of its stage
    double busiest_over_mean = 1;
    Time balanced;  // the step with equal loads
};

// Empty if loads are even.
std::optional<HotExperts> busiest_experts(const Answer& answer);

// The same, with the step of even loads on the scenario's own network.
Result<std::optional<HotExperts>> hot_experts(const Scenario& scenario, const Answer& answer);

}  // namespace orrery
