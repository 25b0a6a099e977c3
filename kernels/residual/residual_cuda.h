// SPDX-License-Identifier: Apache-2.0
// Operations on the residual stream on a GPU: the functions of kernels/residual/residual_cpu.h,
// which drop the same elements. Activations have one dtype. Biases, their gradients and the sum of
// residual_add (which may accumulate in fp32) may have another.
#pragma once

#include <span>

#include "kernels/cuda/dropout_source.h"
#include "kernels/residual/residual_cpu.h"

namespace orrery::device {

// sum = a + b; sum may be a or b.
template <class Queue>
void residual_add(Queue& queue, ConstTensorView a, ConstTensorView b, TensorView sum);

// sum = a + b + biases (two at most) of `width` columns, added to every row; rounded once.
template <class Queue>
void residual_add_biases(Queue& queue,
                         std::int64_t width,
                         ConstTensorView a,
                         ConstTensorView b,
                         std::span<const ConstTensorView> biases,
                         TensorView sum);

template <class Queue>
void bias_dropout_add(Queue& queue,
                      const ValueShard& shard,
                      const DropoutSource& dropout,
                      const cpu::BiasDropoutAdd& operands,
                      ConstTensorView second_bias = {});

// Backward is the same function, applied to dy.
template <class Queue>
void dropout_forward(Queue& queue,
                     const ValueShard& shard,
                     const DropoutSource& dropout,
                     ConstTensorView x,
                     TensorView y,
                     TensorView mask = {});

// Backward from a stored mask: dx = dy / (1 - rate) where it has a 1, else 0.
template <class Queue>
void masked_gradient(Queue& queue,
                     const DropoutSource& dropout,
                     ConstTensorView mask,
                     ConstTensorView dy,
                     TensorView dx);

template <class Queue>
void bias_gradient(
    Queue& queue, std::int64_t tokens, std::int64_t columns, ConstTensorView dy, TensorView dbias);

}  // namespace orrery::device
