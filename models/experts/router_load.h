// SPDX-License-Identifier: Apache-2.0
// The number of tokens that a router sends to each expert of a layer (plan.moe_router_load).
//
// All ranks of a role run one Program. It has the load of a rank that is the busiest in every
// layer, which bounds the times and the memory of a search. A simulated step gives each rank its
// own rows (models/experts/routed_step.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

struct RouterDraw {
    RouterLoad load = RouterLoad::balanced;
    // Of zipf: the i-th expert of a drawn order has a likelihood proportional to 1 / i^alpha
    double alpha = 1;
    std::uint64_t seed = 1;
    std::int64_t experts = 1;
    std::int64_t topk = 1;
    // Groups of consecutive experts. A token first chooses `group_topk` groups, then experts in
    // them. 0: no groups.
    std::int64_t groups = 0;
    std::int64_t group_topk = 0;
    std::span<const std::int64_t> trace{};  // plan.moe_router_load_trace
    double capacity_factor = 0;             // plan.moe_expert_capacity_factor
    std::int64_t layers = 0;  // of the model; a longer trace has counts for each micro-batch
    // The number of ranks on which experts are placed by their total rows
    // (plan.moe_expert_placement); 0: no placement. Experts are then numbered in the order of their
    // places. `placed_by` is the whole trace.
    std::int64_t placed_on = 0;
    std::span<const std::int64_t> placed_by{};
};
RouterDraw router_draw(const Transformer& model, const ParallelPlan& plan);

// By expert: the likelihood of a choice, up to a common factor.
std::vector<double> expert_likelihoods(const RouterDraw& draw, std::int64_t layer);

// The number of tokens of each expert if `tokens` tokens choose topk different experts each. The
// numbers add up to tokens x topk minus the tokens that a capacity drops. Of many tokens a part is
// drawn and scaled up. If all experts are equally likely, deviations from the mean are scaled by
// the square root of the number of tokens.
std::vector<double> expert_loads(const RouterDraw& draw, std::int64_t layer, std::int64_t tokens);

// Splits the experts into `groups` equal groups of consecutive experts, and returns the largest sum
// of loads over the mean sum: 1 if balanced.
double max_over_mean(const std::vector<double>& loads, std::int64_t groups);

// The most tokens that an expert takes: ceil(tokens topk / experts x factor) (Megatron-Core,
// moe_utils.py).
std::int64_t expert_capacity(std::int64_t tokens,
                             std::int64_t topk,
                             std::int64_t experts,
                             double factor);

// The change of each expert's selection bias after a step, in units of the update rate: +1 with
// fewer tokens than the mean, -1 with more, else 0 (Wang et al., arXiv 2408.15664, algorithm 1).
std::vector<int> bias_update(std::span<const double> loads);

// The load of the ranks that share a layer's experts; `tokens` counts the tokens of all these
// ranks.
struct LayerLoad {
    double busiest = 1;  // rows of the busiest rank over the mean, tokens x topk / ranks
    std::int64_t busiest_rank = 0;
    double kept = 1;  // share of all rows that is not dropped
    // Each expert's share of the busiest rank's rows; empty: equal
    std::vector<double> of_experts{};
    // Each rank's share of all rows, in millionths; empty: equal
    std::vector<std::uint32_t> shares{};
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
