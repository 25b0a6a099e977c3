// SPDX-License-Identifier: Apache-2.0
#include "kernels/rmsnorm/rmsnorm_cuda.h"

#include "kernels/rmsnorm/rmsnorm_cpu.h"
#include "kernels/rmsnorm/rmsnorm_device.h"
#include "tests/kernels/norm_cuda_laws.h"

namespace orrery::device {
namespace {

struct Rmsnorm {
    static constexpr std::int64_t kWeights = 1;
    static constexpr auto definition = cpu::rmsnorm_definition;
    static constexpr auto cpu_forward = cpu::rmsnorm_forward;
    static constexpr auto cpu_backward = cpu::rmsnorm_backward;
    template <class Queue>
    static void forward(Queue& queue,
                        const cpu::NormShape& shape,
                        const cpu::NormForward& operands,
                        const NormBiases& biases) {
        rmsnorm_forward(queue, shape, operands, biases);
    }
    template <class Queue>
    static void backward(Queue& queue,
                         const cpu::NormShape& shape,
                         const cpu::NormBackward& operands) {
        rmsnorm_backward(queue, shape, operands);
    }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Rmsnorm, NormCuda, Rmsnorm);

}  // namespace
}  // namespace orrery::device
