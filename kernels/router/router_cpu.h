// SPDX-License-Identifier: Apache-2.0
// The router of a mixture of experts on the CPU (kernels/router/router.h), in fp32.
//   logits, dlogits [tokens, experts], fp32 or bf16; bias [experts] fp32, empty if there is none;
//   weights, dweights [tokens, k] fp32; experts [tokens, k] int32, the best first. The lower number
//   wins ties. Without bias and groups the logits themselves are compared. Experts whose score is
//   NaN are chosen last, and expert 0 then replaces them.
// Normalised weights: softmax over the chosen logits; for sigmoids s_i / (sum of s + 1e-20), as in
// DeepSeek-V3's published model. Neither the choice nor the bias has a gradient. `balance` is the
// coefficient of the balancing loss per token: the coefficient over the number of tokens.
#pragma once

#include "kernels/router/router.h"
#include "kernels/tensor_view.h"

namespace orrery::cpu {

inline constexpr float kRouterSumFloor = 1e-20f;

void router_forward(const RouterShape& shape,
                    ConstTensorView logits,
                    ConstTensorView bias,
                    TensorView weights,
                    TensorView experts);
void router_backward(const RouterShape& shape,
                     ConstTensorView dweights,
                     ConstTensorView logits,
                     ConstTensorView experts,
                     TensorView dlogits,
                     float balance = 0);

}  // namespace orrery::cpu
