// SPDX-License-Identifier: Apache-2.0
// Embedding on a GPU: the functions of kernels/embedding/embedding_cpu.h. Activations, tables and
// their gradients are fp32 or bf16. Backward, tokens are sorted by id on the device (stably), and
// one block sums the rows of one id in token order: without atomics, in the CPU's order.
#pragma once

#include "kernels/embedding/embedding_cpu.h"

namespace orrery::device {

template <class Queue>
void embedding_forward(Queue& queue,
                       const cpu::EmbeddingShape& shape,
                       ConstTensorView token_ids,
                       ConstTensorView table,
                       TensorView output);
template <class Queue>
void embedding_backward(Queue& queue,
                        const cpu::EmbeddingShape& shape,
                        ConstTensorView token_ids,
                        ConstTensorView doutput,
                        TensorView dtable);
template <class Queue>
void position_forward(Queue& queue,
                      const cpu::PositionShape& shape,
                      ConstTensorView table,
                      TensorView x);
template <class Queue>
void position_backward(Queue& queue,
                       const cpu::PositionShape& shape,
                       ConstTensorView dx,
                       TensorView dtable);

}  // namespace orrery::device
