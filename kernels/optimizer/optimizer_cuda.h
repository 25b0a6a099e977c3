// SPDX-License-Identifier: Apache-2.0
// The end of a step on a GPU, all tensors of a rank a call: the arithmetic of
// kernels/optimizer/optimizer_cpu.h, AdamW with its bits. What changes from step to step is read on
// the device from the device scalar block (engine/program/device_scalars.h). The gradients of a
// call have one type, the parameters too; m, v and master are fp32.
#pragma once

#include <span>

#include "kernels/optimizer/optimizer_cpu.h"

namespace orrery::device {

// sum += gradient, in the precision of `sum`.
template <class Queue>
void gradient_accumulate(Queue& queue, ConstTensorView gradient, TensorView sum);

// squared[0] = sum of the squares of all, summed in double in a fixed order.
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
    bool decays = true;        // vectors (norms, biases) do not
    std::uint32_t stream = 0;  // of its random numbers
    ParameterPlace place{};    // of this shard in the tensor: their indices
    bool counts = true;        // in the norms over ranks
};
// Of bf16 parameters: to nearest or, keyed by the scalars' seed and step, up with the probability
// of the discarded part.
enum class ParameterRounding : std::uint8_t { nearest, stochastic };

template <class Queue>
void adamw(Queue& queue,
           ConstTensorView scalars,
           ParameterRounding rounding,
           std::span<const OptimizerTensor> tensors);

// LAMB in two kernels, as kernels/optimizer/optimizer_cpu.h has it. The update takes the gradient's
// place, in its type; norms[2 i] and norms[2 i + 1] are the squared norms of weight and update of
// the i-th tensor, summed in double in a fixed order, or 0 where another rank counts them. Ranks
// that share a tensor add their norms in between.
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
