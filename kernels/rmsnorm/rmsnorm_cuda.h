// SPDX-License-Identifier: Apache-2.0
// RMSNorm on a GPU: the functions and operands of kernels/rmsnorm/rmsnorm_cpu.h. Activations have
// one dtype; weights and their gradients may have another. Rows have up to 16384 elements. Biases
// are added to a fused sum before it is stored.
#pragma once

#include "kernels/norm_operands.h"

namespace orrery::device {

template <class Queue>
void rmsnorm_forward(Queue& queue,
                     const cpu::NormShape& shape,
                     const cpu::NormForward& operands,
                     const NormBiases& biases = {});

template <class Queue>
void rmsnorm_backward(Queue& queue, const cpu::NormShape& shape, const cpu::NormBackward& operands);

}  // namespace orrery::device
