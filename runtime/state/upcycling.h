// SPDX-License-Identifier: Apache-2.0
// Weights of a model with one MLP per layer as initial weights of a model with experts (Komatsuzaki
// et al., arXiv 2212.05055). Every expert starts as the MLP; the router keeps its random weights.
// The weights of a token's experts sum to 1, so that the model starts with the loss of the dense
// model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"

namespace orrery {

// The dense model whose weights can initialise this one; an error if their layers differ in more
// than the experts. The model itself if it has no experts.
Result<Transformer> dense_counterpart(const Transformer& model);

// The source of a parameter's weights: the dense model's parameter with this name, repeated for
// each expert. Empty: the parameter keeps its random weights.
std::string dense_parameter(std::string_view parameter);

// The values of a parameter with `elements` elements in which each expert has `values`.
std::vector<float> for_every_expert(std::vector<float> values, std::size_t elements);

}  // namespace orrery
