// SPDX-License-Identifier: Apache-2.0
// How many tokens a router sends to each expert of a layer: the load of a layer with experts
// (plan.moe_router_load).
//
// A role's ranks run one program, so all of them get the load of the layer's busiest rank, on which
// the others wait when the tokens come back. Times of a layer are those of its busiest rank; memory
// is that of a rank which is the busiest in every layer.
#pragma once

#include <cstdint>
#include <vector>

#include "models/plan.h"
#include "models/transformer.h"

namespace orrery {

struct RouterDraw {
    RouterLoad load = RouterLoad::balanced;
    double alpha = 1;  // of zipf: the i-th of an order of the experts is as likely as 1 / i^alpha
    std::uint64_t seed = 1;
    std::int64_t experts = 1;
    std::int64_t topk = 1;
};

// Tokens of each expert when `tokens` tokens choose topk different experts each, in a layer. They
// add up to tokens x topk. Of many tokens a part is drawn and scaled up: deviations from the mean
// by the square root of the number of tokens if all experts are equally likely.
std::vector<double> expert_loads(const RouterDraw& draw, std::int64_t layer, std::int64_t tokens);

// The largest sum of `groups` equal groups of consecutive experts over the mean one: 1 if balanced.
double max_over_mean(const std::vector<double>& loads, std::int64_t groups);

// Of the ranks that share the experts of a layer, with `tokens` tokens of all of them.
double busiest_rank(const Transformer& model,
                    const ParallelPlan& plan,
                    std::int64_t layer,
                    std::int64_t tokens);

}  // namespace orrery
