// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.cuh"
#include "kernels/rmsnorm/rmsnorm_device.h"

namespace orrery::device {

template void rmsnorm_forward(CudaQueue&,
                              const cpu::NormShape&,
                              const cpu::NormForward&,
                              const NormBiases&);
template void rmsnorm_backward(CudaQueue&, const cpu::NormShape&, const cpu::NormBackward&);

}  // namespace orrery::device
