// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters of many requests in one product (Hu et al., LoRA, ICLR 2022; Chen et al.,
// Punica, MLSys 2024) on the CPU: each row of y gets (x A^T) B of its own adapter, or nothing.
//   x [rows, k], numbers int32 [rows] (-1: no adapter), a [adapters, rank, k],
//   b [adapters, rank, n], y [rows, n]
// A scale (LoRA's alpha / rank) is part of b. Sums are fp32: over k ascending, over the rank
// ascending, then added to y once.
#pragma once

#include "kernels/tensor_view.h"

namespace orrery::cpu {

struct AdapterShape {
    std::int64_t rows = 0;
    std::int64_t k = 0;
    std::int64_t n = 0;
    std::int64_t rank = 0;
    std::int64_t adapters = 0;
};

struct AdapterOperands {
    ConstTensorView x;
    ConstTensorView numbers;
    ConstTensorView a;
    ConstTensorView b;
    TensorView y;
};

// y += (x A^T) B
void add_adapters(const AdapterShape& shape, const AdapterOperands& operands);

// The operands have the sizes of the shape.
void check_adapters(const AdapterShape& shape, const AdapterOperands& operands);

}  // namespace orrery::cpu
