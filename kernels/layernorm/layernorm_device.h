// SPDX-License-Identifier: Apache-2.0
// The host functions of kernels/layernorm/layernorm_cuda.h.
#pragma once

#include "kernels/layernorm/layernorm_cuda.h"
#include "kernels/norm_device.h"

namespace orrery::device {

template <class Queue>
void layernorm_forward(Queue& queue,
                       const cpu::NormShape& shape,
                       const cpu::NormForward& operands,
                       const NormBiases& biases) {
    norm_forward<true>(queue, shape, operands, biases);
}

template <class Queue>
void layernorm_backward(Queue& queue,
                        const cpu::NormShape& shape,
                        const cpu::NormBackward& operands) {
    norm_backward<true>(queue, shape, operands);
}

}  // namespace orrery::device
