// SPDX-License-Identifier: Apache-2.0
// Change of element type on the CPU, between fp32 and bf16 (to nearest, ties to even); fp16 and fp8
// are not implemented.
#pragma once

#include "kernels/tensor_view.h"

namespace orrery::cpu {

void cast(ConstTensorView from, TensorView to);  // to.size elements
// `to` [rows, columns] and `transposed` [columns, rows], both from `from` [rows, columns].
void cast_transpose(std::int64_t rows,
                    std::int64_t columns,
                    ConstTensorView from,
                    TensorView to,
                    TensorView transposed);
// max |x|, which scales casts to narrow types.
float largest_magnitude(ConstTensorView x);

}  // namespace orrery::cpu
