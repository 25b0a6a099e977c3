// SPDX-License-Identifier: Apache-2.0
// Weights of a model with one MLP a layer as the first weights of a model with experts (Komatsuzaki
// et al., arXiv 2212.05055): every expert begins as the MLP, and the router as it was drawn. The
// weights of a token's experts add up to 1, so the model begins with the loss of the other one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"

namespace orrery {

// The model whose weights these can be; fails where layers differ from experts. The model itself if
// it has no experts.
Result<Transformer> dense_counterpart(const Transformer& model);

// Where the weights of a parameter come from: the counterpart's parameter of this name, once for
// each expert. Empty: they stay as they were drawn.
std::string dense_parameter(std::string_view parameter);

// The values of a parameter with `elements` elements, each expert's equal to `values`.
std::vector<float> for_every_expert(std::vector<float> values, std::size_t elements);

}  // namespace orrery
