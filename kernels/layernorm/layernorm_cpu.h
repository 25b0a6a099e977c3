// SPDX-License-Identifier: Apache-2.0
// LayerNorm on the CPU (Ba et al., arXiv 1607.06450): y = (x - mean) / sqrt(var + epsilon) * gamma
// + beta over each row of `hidden`, var the biased variance by two passes.
//   weight, dweight: [2 hidden], gamma then beta (models/blocks/parameters.cpp);
//   statistics: fp32 [tokens, 2], mean and 1 / sqrt(var + epsilon).
#pragma once

#include "kernels/norm_operands.h"

namespace orrery::cpu {

void layernorm_forward(const NormShape& shape, const NormForward& operands);
void layernorm_backward(const NormShape& shape, const NormBackward& operands);

}  // namespace orrery::cpu
