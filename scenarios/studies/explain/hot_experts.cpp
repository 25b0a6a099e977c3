// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/explain/hot_experts.h"

#include <algorithm>

#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {

std::optional<HotExperts> busiest_experts(const Answer& answer) {
    if (answer.expert_rows.empty()) {
        return std::nullopt;
    }
    const auto layers = static_cast<double>(answer.expert_rows.size());
    const auto worst = std::ranges::max_element(answer.expert_rows, {}, &LayerRows::mean_of_most);
    HotExperts hot{.layer = worst->layer,
                   .rank = worst->busiest,
                   .over_mean = worst->most,
                   .worst = worst->mean_of_most,
                   .mean_worst = 0};
    for (const LayerRows& rows : answer.expert_rows) {
        hot.mean_worst += rows.mean_of_most / layers;
        hot.dropped += rows.dropped / layers;
    }
    const auto busiest = std::ranges::max_element(answer.rows_of_rank);
    hot.busiest = to_id<RankId>(static_cast<std::size_t>(busiest - answer.rows_of_rank.begin()));
    hot.busiest_over_mean = *busiest;
    return hot;
}

Result<std::optional<HotExperts>> hot_experts(const Scenario& scenario, const Answer& answer) {
    std::optional<HotExperts> hot = busiest_experts(answer);
    if (!hot) {
        return hot;
    }
    Scenario balanced = scenario;
    balanced.plan.moe_router_load = RouterLoad::balanced;
    balanced.plan.moe_router_load_trace.clear();
    const Result<Answer> other = simulate_scenario(balanced, {});
    if (!other) {
        return tl::unexpected(other.error());
    }
    hot->balanced = other->iteration;
    return hot;
}

}  // namespace orrery
