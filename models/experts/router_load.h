// SPDX-License-Identifier: Apache-2.0
// How many tokens a router sends to each expert of a layer: the load of a layer with experts
// (plan.moe_router_load).
//
// A role's ranks run one Program, which has the load of a rank that is the busiest of every layer:
// times and memory of a search are bounded by it. A simulated step gives each rank its own rows
// (models/experts/routed_step.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

struct RouterDraw {
    RouterLoad load = RouterLoad::balanced;
    double alpha = 1;  // of zipf: the i-th of an order of the experts is as likely as 1 / i^alpha
    std::uint64_t seed = 1;
    std::int64_t experts = 1;
    std::int64_t topk = 1;
    // Groups of consecutive experts, of which a token chooses this many first; 0: any.
    std::int64_t groups = 0;
    std::int64_t group_topk = 0;
    std::span<const std::int64_t> trace{};  // as plan.moe_router_load_trace
    double capacity_factor = 0;             // as plan.moe_expert_capacity_factor
    std::int64_t layers = 0;                // of the model: a longer trace has micro-batches
    // Ranks that the experts are placed on by their total rows (plan.moe_expert_placement); 0: no
    // placement. Experts are numbered in the order of their places. `placed_by`: the whole trace.
    std::int64_t placed_on = 0;
    std::span<const std::int64_t> placed_by{};
};
RouterDraw router_draw(const Transformer& model, const ParallelPlan& plan);

// By expert: how likely a choice is, up to a factor.
std::vector<double> expert_likelihoods(const RouterDraw& draw, std::int64_t layer);

// Tokens of each expert when `tokens` tokens choose topk different experts each, in a layer. They
// add up to tokens x topk but for what a capacity drops. Of many tokens a part is drawn and scaled
// up: deviations from the mean by the square root of the number of tokens if all experts are
// equally likely.
std::vector<double> expert_loads(const RouterDraw& draw, std::int64_t layer, std::int64_t tokens);

// The largest sum of `groups` equal groups of consecutive experts over the mean one: 1 if balanced.
double max_over_mean(const std::vector<double>& loads, std::int64_t groups);

// Tokens that an expert takes: ceil(tokens topk / experts x factor) (Megatron-Core, moe_utils.py).
std::int64_t expert_capacity(std::int64_t tokens,
                             std::int64_t topk,
                             std::int64_t experts,
                             double factor);

// What one step adds to the bias by which an expert is chosen, in steps of the update: +1 with
// fewer tokens than the mean, -1 with more, else 0 (Wang et al., arXiv 2408.15664, algorithm 1).
std::vector<int> bias_update(std::span<const double> loads);

// The load of the ranks that share the experts of a layer, with `tokens` tokens of all of them.
struct LayerLoad {
    double busiest = 1;  // rows of the busiest rank over tokens x topk / ranks
    std::int64_t busiest_rank = 0;
    double kept = 1;                      // of all rows: the rest is dropped
    std::vector<double> of_experts{};     // parts of the busiest rank's rows; empty: equal
    std::vector<std::uint32_t> shares{};  // of all rows, millionths by rank; empty: equal
};
LayerLoad layer_load(const Transformer& model,
                     const ParallelPlan& plan,
                     std::int64_t layer,
                     std::int64_t tokens);
double busiest_rank(const Transformer& model,
                    const ParallelPlan& plan,
                    std::int64_t layer,
                    std::int64_t tokens);

}  // namespace orrery
