// SPDX-License-Identifier: Apache-2.0
// Activations of experts on the CPU: the functions of kernels/activation/activation_cpu.h, with
// each row times its weight, rounded once. Only the first `rows` rows of a tensor are used.
//   y = w f(x); dx = w f'(x) dy; dw = the row's sum of f(x) dy.
#pragma once

#include "kernels/activation/activation_cpu.h"

namespace orrery::cpu {

struct WeightedActivation {
    std::int64_t rows = 0;
    std::int64_t ffn = 0;
    bool gated = false;
    bool variant = false;  // true: squared ReLU or GEGLU
};

void weighted_forward(const WeightedActivation& shape,
                      ConstTensorView x,
                      ConstTensorView weights,
                      TensorView y);
void weighted_backward(const WeightedActivation& shape,
                       ConstTensorView dy,
                       ConstTensorView x,
                       ConstTensorView weights,
                       TensorView dx,
                       TensorView dweights);

}  // namespace orrery::cpu
