// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.cuh"
#include "kernels/layernorm/layernorm_device.h"

namespace orrery::device {

template void layernorm_forward(CudaQueue&,
                                const cpu::NormShape&,
                                const cpu::NormForward&,
                                const NormBiases&);
template void layernorm_backward(CudaQueue&, const cpu::NormShape&, const cpu::NormBackward&);

}  // namespace orrery::device
