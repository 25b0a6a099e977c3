// SPDX-License-Identifier: Apache-2.0
// Activations of the MLP on the CPU, computed in fp32; each tensor is fp32 or bf16.
//   GELU (tanh form, as GPT-2): y = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)));
//   squared ReLU: y = max(x, 0)^2 (So et al., arXiv 2109.08668);
//   SwiGLU: y = gate sigmoid(gate) up;  GEGLU: y = GELU(gate) up (Shazeer, arXiv 2002.05202).
// Ungated: x, dx are [tokens, ffn]. Gated: x, dx are [tokens, 2 ffn], the gate's columns, then
// those of up. y, dy are [tokens, ffn]. An optional bias, as wide as x, is added to x first, in
// fp32; its gradient is cpu::bias_gradient of dx. An output may alias an input of equal size. A
// gated activation may be split into two kernels, each of which rounds its result: without
// `times_up`, y = f(gate) and dx = (dy f'(gate), dy f(gate)); then gate_product() multiplies y, or
// the first half of dx, by up.
#pragma once

#include "kernels/tensor_view.h"

namespace orrery::cpu {

struct ActivationShape {
    std::int64_t tokens = 0;
    std::int64_t ffn = 0;
};

enum class Ungated : std::uint8_t { gelu, squared_relu };
enum class Gated : std::uint8_t { swiglu, geglu };

void gelu_forward(const ActivationShape& shape,
                  Ungated function,
                  ConstTensorView x,
                  ConstTensorView bias,
                  TensorView y);
void gelu_backward(const ActivationShape& shape,
                   Ungated function,
                   ConstTensorView dy,
                   ConstTensorView x,
                   ConstTensorView bias,
                   TensorView dx);
void swiglu_forward(const ActivationShape& shape,
                    Gated function,
                    ConstTensorView x,
                    ConstTensorView bias,
                    TensorView y,
                    bool times_up = true);
void swiglu_backward(const ActivationShape& shape,
                     Gated function,
                     ConstTensorView dy,
                     ConstTensorView x,
                     ConstTensorView bias,
                     TensorView dx,
                     bool times_up = true);
// Multiplies the first `ffn` columns of y, whose rows are ffn or 2 ffn wide, by up, the last `ffn`
// columns of x.
void gate_product(const ActivationShape& shape, ConstTensorView x, TensorView y);

}  // namespace orrery::cpu
