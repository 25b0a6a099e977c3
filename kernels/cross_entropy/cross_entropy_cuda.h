// SPDX-License-Identifier: Apache-2.0
// Cross-entropy on a GPU: the functions of kernels/cross_entropy/cross_entropy_cpu.h, also in
// vocabulary-parallel pieces. Probabilities are never stored; only the unfused loss stores its
// logits in fp32. The weight of a token's loss is one fp32 on the device
// (engine/program/device_scalars.h), so that it may change without a new launch.
#pragma once

#include "kernels/cross_entropy/cross_entropy_cpu.h"

namespace orrery::device {

template <class Queue>
void cross_entropy_maximum(Queue& queue,
                           const cpu::CrossEntropyShape& shape,
                           ConstTensorView logits,
                           TensorView maximum);
template <class Queue>
void cross_entropy_sums(Queue& queue,
                        const cpu::CrossEntropyShape& shape,
                        ConstTensorView logits,
                        ConstTensorView targets,
                        const cpu::LossStatistics& statistics);
template <class Queue>
void cross_entropy_local(Queue& queue,
                         const cpu::CrossEntropyShape& shape,
                         ConstTensorView logits,
                         ConstTensorView targets,
                         const cpu::LossStatistics& statistics,
                         TensorView widened = {});
template <class Queue>
void cross_entropy_rescale(Queue& queue,
                           ConstTensorView local_maximum,
                           const cpu::LossStatistics& statistics);
// loss[0] += scale * (sum of the tokens' losses, in double). `losses` is fp32 [tokens], or empty.
template <class Queue>
void cross_entropy_finish(Queue& queue,
                          std::int64_t tokens,
                          ConstTensorView targets,
                          const cpu::LossStatistics& statistics,
                          ConstTensorView scale,
                          TensorView loss,
                          TensorView losses = {});
template <class Queue>
void cross_entropy_backward(Queue& queue,
                            const cpu::CrossEntropyShape& shape,
                            ConstTensorView targets,
                            const cpu::LossStatistics& statistics,
                            ConstTensorView scale,
                            TensorView logits,
                            ConstTensorView widened = {});

}  // namespace orrery::device
