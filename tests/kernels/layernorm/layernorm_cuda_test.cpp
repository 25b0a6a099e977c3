// SPDX-License-Identifier: Apache-2.0
#include "kernels/layernorm/layernorm_cuda.h"

#include "kernels/layernorm/layernorm_cpu.h"
#include "kernels/layernorm/layernorm_device.h"
#include "tests/kernels/norm_cuda_laws.h"

namespace orrery::device {
namespace {

struct Layernorm {
    static constexpr std::int64_t kWeights = 2;
    static constexpr auto definition = cpu::layernorm_definition;
    static constexpr auto cpu_forward = cpu::layernorm_forward;
    static constexpr auto cpu_backward = cpu::layernorm_backward;
    template <class Queue>
    static void forward(Queue& queue,
                        const cpu::NormShape& shape,
                        const cpu::NormForward& operands,
                        const NormBiases& biases) {
        layernorm_forward(queue, shape, operands, biases);
    }
    template <class Queue>
    static void backward(Queue& queue,
                         const cpu::NormShape& shape,
                         const cpu::NormBackward& operands) {
        layernorm_backward(queue, shape, operands);
    }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Layernorm, NormCuda, Layernorm);

}  // namespace
}  // namespace orrery::device
