// SPDX-License-Identifier: Apache-2.0
// Activations of the MLP on a GPU: the functions of kernels/activation/activation_cpu.h. x, dx, y
// and dy have one dtype; the bias may have another.
#pragma once

#include "kernels/activation/activation_cpu.h"

namespace orrery::device {

template <class Queue>
void gelu_forward(Queue& queue,
                  const cpu::ActivationShape& shape,
                  cpu::Ungated function,
                  ConstTensorView x,
                  ConstTensorView bias,
                  TensorView y);
template <class Queue>
void gelu_backward(Queue& queue,
                   const cpu::ActivationShape& shape,
                   cpu::Ungated function,
                   ConstTensorView dy,
                   ConstTensorView x,
                   ConstTensorView bias,
                   TensorView dx);
template <class Queue>
void swiglu_forward(Queue& queue,
                    const cpu::ActivationShape& shape,
                    cpu::Gated function,
                    ConstTensorView x,
                    ConstTensorView bias,
                    TensorView y,
                    bool times_up = true);
template <class Queue>
void swiglu_backward(Queue& queue,
                     const cpu::ActivationShape& shape,
                     cpu::Gated function,
                     ConstTensorView dy,
                     ConstTensorView x,
                     ConstTensorView bias,
                     TensorView dx,
                     bool times_up = true);
template <class Queue>
void gate_product(Queue& queue, const cpu::ActivationShape& shape, ConstTensorView x, TensorView y);

}  // namespace orrery::device
