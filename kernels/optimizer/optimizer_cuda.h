// SPDX-License-Identifier: Apache-2.0
// The end of a step on a GPU, all tensors of a rank in one call: the arithmetic of
// kernels/optimizer/optimizer_cpu.h, with the same bits for AdamW. Values that change from step to
// step are read from the device scalar block (engine/program/device_scalars.h). The gradients of a
// call have one type, and so do its parameters; m, v and master are fp32.
#pragma once

#include <span>

#include "kernels/optimizer/optimizer_cpu.h"

namespace orrery::device {

// sum += gradient, in the precision of `sum`.
template <class Queue>
void gradient_accumulate(Queue& queue, ConstTensorView gradient, TensorView sum);

// squared[0] = the sum of the squares of all gradients, in double and in a fixed order.
template <class Queue>
void gradient_norm(Queue& queue, std::span<const ConstTensorView> gradients, TensorView squared);

// gradient *= clip_factor(sqrt(squared[0]), clip norm of the scalars).
template <class Queue>
void gradient_scale(Queue& queue,
                    ConstTensorView squared,
                    ConstTensorView scalars,
                    std::span<const TensorView> gradients);

struct OptimizerTensor {
    cpu::OptimizerTensors tensors;
    bool decays = true;        // weight decay; vectors (norms, biases) have none
    std::uint32_t stream = 0;  // of its random numbers
    ParameterPlace place{};    // place of this shard in the tensor, for random numbers
    bool counts = true;        // whether this rank counts it in the norms over ranks
};
// Rounding of bf16 parameters: to nearest, or up with a probability equal to the discarded part,
// keyed by the scalars' seed and step.
enum class ParameterRounding : std::uint8_t { nearest, stochastic };

template <class Queue>
void adamw(Queue& queue,
           ConstTensorView scalars,
           ParameterRounding rounding,
           std::span<const OptimizerTensor> tensors);

// LAMB in two kernels, as in kernels/optimizer/optimizer_cpu.h. The update overwrites the gradient,
// in its type. norms[2 i] and norms[2 i + 1] are the squared norms of weight and update of the i-th
// tensor, summed in double in a fixed order, or 0 if another rank counts them. Between the kernels,
// ranks that share a tensor sum their norms.
template <class Queue>
void lamb_update(Queue& queue,
                 ConstTensorView scalars,
                 std::span<const OptimizerTensor> tensors,
                 TensorView norms);
template <class Queue>
void lamb_apply(Queue& queue,
                ConstTensorView scalars,
                ConstTensorView norms,
                ParameterRounding rounding,
                std::span<const OptimizerTensor> tensors);

}  // namespace orrery::device
