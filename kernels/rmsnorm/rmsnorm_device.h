// SPDX-License-Identifier: Apache-2.0
// The host functions of kernels/rmsnorm/rmsnorm_cuda.h.
#pragma once

#include "kernels/norm_device.h"
#include "kernels/rmsnorm/rmsnorm_cuda.h"

namespace orrery::device {

template <class Queue>
void rmsnorm_forward(Queue& queue,
                     const cpu::NormShape& shape,
                     const cpu::NormForward& operands,
                     const NormBiases& biases) {
    norm_forward<false>(queue, shape, operands, biases);
}

template <class Queue>
void rmsnorm_backward(Queue& queue,
                      const cpu::NormShape& shape,
                      const cpu::NormBackward& operands) {
    norm_backward<false>(queue, shape, operands);
}

}  // namespace orrery::device
