// SPDX-License-Identifier: Apache-2.0
// The experts of a layer over the rows of a serving step, on the CPU kernels: the kernels of a
// training Program of one rank, and therefore with the same bits. Tensor-parallel ranks hold
// columns of each matrix of every expert (runtime/serve/paged_decoder.h), and each computes the
// choice of experts itself.
#pragma once

#include <functional>
#include <vector>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"

namespace orrery {

struct ServedExperts {
    std::vector<float> router;       // [hidden, experts]
    std::vector<float> router_bias;  // bias of the choice, or empty
    std::vector<float> fc1;          // per expert [hidden, columns of this rank]
    std::vector<float> fc2;          // per expert [expert width, columns of this rank]
};

// The reason why a model's experts cannot be served, or empty.
std::string why_not_served(const Transformer& model);

// Gathers the columns of all tensor-parallel ranks: rows, mine, all.
using GatherRows = std::function<Result<void>(
    std::int64_t rows, std::vector<float> mine, std::vector<float>& all)>;

// Sets `branch` to this rank's columns of the sum of each token's experts.
Result<void> run_experts(const Transformer& model,
                         const ServedExperts& experts,
                         std::int64_t tokens,
                         const std::vector<float>& x,
                         const GatherRows& gather,
                         std::vector<float>& branch);

}  // namespace orrery
