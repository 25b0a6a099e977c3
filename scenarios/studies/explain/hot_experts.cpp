// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/explain/hot_experts.h"

#include "models/router_load.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

// Of all ranks that share a layer's experts.
std::int64_t tokens_of_a_layer(const Scenario& scenario) {
    const ParallelPlan& plan = scenario.plan;
    const std::int64_t split =
        plan.context_parallel_size * (plan.sequence_parallel ? plan.tensor_model_parallel_size : 1);
    return scenario.model.seq_length / split * plan.micro_batch_size * plan.expert_tensor_size() *
           plan.expert_model_parallel_size;
}

}  // namespace

std::optional<HotExperts> busiest_experts(const Scenario& scenario) {
    const Transformer& model = scenario.model;
    const ParallelPlan& plan = scenario.plan;
    if (model.num_experts == 0 || plan.moe_router_load == RouterLoad::balanced) {
        return std::nullopt;
    }
    HotExperts hot{.ranks = plan.expert_model_parallel_size};
    const std::int64_t tokens = tokens_of_a_layer(scenario);
    double sum = 0;
    double kept = 0;
    std::int64_t layers = 0;
    for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
        if (!model.layer_has_experts(layer)) {
            continue;
        }
        const LayerLoad load = layer_load(model, plan, layer, tokens);
        sum += load.busiest;
        kept += load.kept;
        if (layers++ == 0 || load.busiest > hot.over_mean) {
            hot.layer = layer;
            hot.rank = load.busiest_rank;
            hot.over_mean = load.busiest;
        }
    }
    hot.mean_over_mean = sum / static_cast<double>(layers);
    hot.dropped = 1 - kept / static_cast<double>(layers);
    return hot;
}

Result<std::optional<HotExperts>> hot_experts(const Scenario& scenario) {
    std::optional<HotExperts> hot = busiest_experts(scenario);
    if (!hot) {
        return hot;
    }
    Scenario balanced = scenario;
    balanced.plan.moe_router_load = RouterLoad::balanced;
    balanced.plan.moe_router_load_trace.clear();
    const Result<Answer> answer = simulate_scenario(balanced, {});
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    hot->balanced = answer->iteration;
    return hot;
}

}  // namespace orrery
