// SPDX-License-Identifier: Apache-2.0
// LayerNorm in the list of kernels (kernels/norm_kernels.h).
#pragma once

#include "kernels/layernorm/layernorm.h"
#include "kernels/layernorm/layernorm_cpu.h"
#include "kernels/layernorm/layernorm_cuda.h"
#include "kernels/norm_kernels.h"

namespace orrery::kernel {

struct LayerNorm {
    static constexpr const NormWork& kWork = kLayerNorm;
    static void run_forward(const cpu::NormShape& s, const cpu::NormForward& operands) {
        cpu::layernorm_forward(s, operands);
    }
    static void run_backward(const cpu::NormShape& s, const cpu::NormBackward& operands) {
        cpu::layernorm_backward(s, operands);
    }
    template <class Queue>
    static void launch_forward(Queue& queue,
                               const cpu::NormShape& s,
                               const cpu::NormForward& operands,
                               const device::NormBiases& biases) {
        device::layernorm_forward(queue, s, operands, biases);
    }
    template <class Queue>
    static void launch_backward(Queue& queue,
                                const cpu::NormShape& s,
                                const cpu::NormBackward& operands) {
        device::layernorm_backward(queue, s, operands);
    }
};

}  // namespace orrery::kernel
