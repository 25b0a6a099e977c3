// SPDX-License-Identifier: Apache-2.0
// The router of a mixture of experts on the CPU (kernels/router/router.h), in fp32.
//   logits, dlogits [tokens, experts], fp32 or bf16; bias [experts] fp32, empty if there is none;
//   weights, dweights [tokens, k] fp32; experts [tokens, k] int32, the best first. Of equal scores
//   the lower number wins. Without a bias and groups the logits are compared themselves. Experts
//   whose score is not a number are chosen last, and then expert 0 stands for them.
// Normalised weights: softmax over the chosen logits; s_i / (sum of s + 1e-20) of sigmoids, as
// DeepSeek-V3's published model does. The choice itself has no gradient, and neither has the bias.
// `balance`: coefficient of the balancing loss of one token, the whole loss's over the tokens.
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
