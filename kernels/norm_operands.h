// SPDX-License-Identifier: Apache-2.0
// Operands of LayerNorm and RMSNorm on the CPU. Activations are [tokens, hidden] row-major, fp32 or
// bf16 each. Rows are computed in fp32.
#pragma once

#include "kernels/tensor_view.h"

namespace orrery::cpu {

struct NormShape {
    std::int64_t tokens = 0;
    std::int64_t hidden = 0;
    float epsilon = 1e-5f;
};

// y = norm(x), or with `residual` sum = x + residual, y = norm(sum). The norm uses the sum as
// stored (rounded to bf16 if `sum` is), because the backward pass reads that.
struct NormForward {
    ConstTensorView x;
    ConstTensorView residual{};  // fused addition; empty: none
    ConstTensorView weight;      // see layernorm_cpu.h, rmsnorm_cpu.h
    TensorView sum{};            // only with `residual`; may alias x or residual
    TensorView y;
    TensorView statistics{};  // optional fp32, see layernorm_cpu.h, rmsnorm_cpu.h
};

// dx = (gradient through the norm) + dresidual; dweight += gradient of the weight.
struct NormBackward {
    ConstTensorView dy;
    ConstTensorView x;  // input of the norm: `sum` if the addition was fused
    ConstTensorView weight;
    ConstTensorView dresidual{};  // gradient of the residual; empty: none
    // Of the forward pass; empty: recomputed from x with the same bits
    ConstTensorView statistics{};
    TensorView dx;       // may alias dy or dresidual
    TensorView dweight;  // fp32 or bf16, accumulated; column sums are fp32, rows in order
};

// Loads the row from element `first` on as the norm's input, and performs the fused addition.
void load_norm_input(const NormForward& operands, std::int64_t first, std::span<float> row);
// dweight += gradient.
void add_norm_gradient(const NormBackward& operands, std::span<const float> gradient);

}  // namespace orrery::cpu

namespace orrery::device {

inline constexpr std::int64_t kNormHiddenMax = 16384;  // of rows on a GPU

// Biases that a fused sum on a GPU adds after x and the residual.
struct NormBiases {
    ConstTensorView first{};
    ConstTensorView second{};
};

}  // namespace orrery::device
