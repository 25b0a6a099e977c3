// SPDX-License-Identifier: Apache-2.0
// The experts of a layer over the rows of a serving step, by the CPU kernels: the kernels of a
// training Program of one rank, so with its bits. Tensor-parallel ranks hold columns of each
// matrix of every expert (runtime/serve/paged_decoder.h), and each chooses the experts itself.
#pragma once

#include <functional>
#include <vector>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"

namespace orrery {

struct ServedExperts {
    std::vector<float> router;       // [hidden, experts]
    std::vector<float> router_bias;  // of the choice, or empty
    std::vector<float> fc1;          // of each expert [hidden, columns of this rank]
    std::vector<float> fc2;          // of each expert [expert width, columns of this rank]
};

// Whether a model's experts are computed so; else why not.
std::string why_not_served(const Transformer& model);

// Gathers the columns of all tensor-parallel ranks: rows, mine, all.
using GatherRows = std::function<Result<void>(
    std::int64_t rows, std::vector<float> mine, std::vector<float>& all)>;

// `branch`: this rank's columns of the sum of each token's experts.
Result<void> run_experts(const Transformer& model,
                         const ServedExperts& experts,
                         std::int64_t tokens,
                         const std::vector<float>& x,
                         const GatherRows& gather,
                         std::vector<float>& branch);

}  // namespace orrery
