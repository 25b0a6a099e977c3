// SPDX-License-Identifier: Apache-2.0
// RMSNorm in the list of kernels (kernels/norm_kernels.h).
#pragma once

#include "kernels/norm_kernels.h"
#include "kernels/rmsnorm/rmsnorm.h"
#include "kernels/rmsnorm/rmsnorm_cpu.h"
#include "kernels/rmsnorm/rmsnorm_cuda.h"

namespace orrery::kernel {

struct RmsNorm {
    static constexpr const NormWork& kWork = kRmsNorm;
    static void run_forward(const cpu::NormShape& s, const cpu::NormForward& operands) {
        cpu::rmsnorm_forward(s, operands);
    }
    static void run_backward(const cpu::NormShape& s, const cpu::NormBackward& operands) {
        cpu::rmsnorm_backward(s, operands);
    }
    template <class Queue>
    static void launch_forward(Queue& queue,
                               const cpu::NormShape& s,
                               const cpu::NormForward& operands,
                               const device::NormBiases& biases) {
        device::rmsnorm_forward(queue, s, operands, biases);
    }
    template <class Queue>
    static void launch_backward(Queue& queue,
                                const cpu::NormShape& s,
                                const cpu::NormBackward& operands) {
        device::rmsnorm_backward(queue, s, operands);
    }
};

}  // namespace orrery::kernel
