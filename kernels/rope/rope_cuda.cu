// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.cuh"
#include "kernels/rope/rope_device.h"

namespace orrery::device {

template void rope_forward(CudaQueue&, const cpu::RopeShape&, TensorView);
template void rope_backward(CudaQueue&, const cpu::RopeShape&, TensorView);

}  // namespace orrery::device
