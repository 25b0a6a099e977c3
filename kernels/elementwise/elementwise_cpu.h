// SPDX-License-Identifier: Apache-2.0
// Plain passes over memory on the CPU; fp32 or bf16 tensors.
#pragma once

#include <span>

#include "kernels/tensor_view.h"

namespace orrery::cpu {

// sum[i] = chunks[0][i] + chunks[1][i] + ..., in this order, in fp32, rounded once. `sum` may be
// one of the chunks.
void reduce_local(std::span<const ConstTensorView> chunks, TensorView sum);
// transposed[c, r] = matrix[r, c].
void transpose(std::int64_t rows,
               std::int64_t columns,
               ConstTensorView matrix,
               TensorView transposed);

}  // namespace orrery::cpu
