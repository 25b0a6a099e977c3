// SPDX-License-Identifier: Apache-2.0
// RMSNorm on the CPU (Zhang and Sennrich, arXiv 1910.07467): y = x / sqrt(mean(x^2) + epsilon) *
// gamma over each row of `hidden`.
//   weight, dweight: [hidden]; statistics: fp32 [tokens], 1 / sqrt(mean(x^2) + epsilon).
#pragma once

#include "kernels/norm_operands.h"

namespace orrery::cpu {

void rmsnorm_forward(const NormShape& shape, const NormForward& operands);
void rmsnorm_backward(const NormShape& shape, const NormBackward& operands);

}  // namespace orrery::cpu
