// SPDX-License-Identifier: Apache-2.0
// Scale, mask and softmax of stored scores on a GPU: the functions of
// kernels/softmax/softmax_cpu.h. Scores, probabilities and gradients have one type.
#pragma once

#include "kernels/softmax/softmax_cpu.h"

namespace orrery::device {

template <class Queue>
void softmax_forward(Queue& queue,
                     const SoftmaxShape& shape,
                     const cpu::SoftmaxArguments& arguments,
                     ConstTensorView scores,
                     TensorView probabilities);
template <class Queue>
void softmax_backward(Queue& queue,
                      const SoftmaxShape& shape,
                      const cpu::SoftmaxArguments& arguments,
                      ConstTensorView probabilities,
                      TensorView gradient);

}  // namespace orrery::device
