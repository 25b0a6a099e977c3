// SPDX-License-Identifier: Apache-2.0
// Operands of LayerNorm and RMSNorm on the CPU, alike for both. Activations are [tokens, hidden]
// row-major, fp32 or bf16 each. Rows are worked on in fp32.
#pragma once

#include "kernels/tensor_view.h"

namespace orrery::cpu {

struct NormShape {
    std::int64_t tokens = 0;
    std::int64_t hidden = 0;
    float epsilon = 1e-5f;
};

// y = norm(x), or with `residual` sum = x + residual, y = norm(sum). The norm sees the sum as it
// was stored (rounded to bf16 where `sum` is), since that is what the backward pass will read.
struct NormForward {
    ConstTensorView x;
    ConstTensorView residual{};  // fused addition; empty: none
    ConstTensorView weight;      // see layernorm_cpu.h, rmsnorm_cpu.h
    TensorView sum{};            // only with `residual`; may be x or residual itself
    TensorView y;
    TensorView statistics{};  // optional fp32, see layernorm_cpu.h, rmsnorm_cpu.h
};

// dx = (gradient through the norm) + dresidual; dweight += gradient of the weight.
struct NormBackward {
    ConstTensorView dy;
    ConstTensorView x;  // what the norm saw: `sum` where the addition was fused
    ConstTensorView weight;
    ConstTensorView dresidual{};   // what came along the residual; empty: none
    ConstTensorView statistics{};  // of the forward pass; empty: computed again from x, same bits
    TensorView dx;                 // may be dy or dresidual itself
    TensorView dweight;            // fp32 or bf16, added to; column sums are fp32, rows in order
};

// The row from element `first` on that the norm sees; performs the fused addition.
void load_norm_input(const NormForward& operands, std::int64_t first, std::span<float> row);
// dweight += gradient.
void add_norm_gradient(const NormBackward& operands, std::span<const float> gradient);

}  // namespace orrery::cpu

namespace orrery::device {

inline constexpr std::int64_t kNormHiddenMax = 16384;  // of rows on a GPU

// A fused sum on a GPU may take two biases, after x and the residual.
struct NormBiases {
    ConstTensorView first{};
    ConstTensorView second{};
};

}  // namespace orrery::device
