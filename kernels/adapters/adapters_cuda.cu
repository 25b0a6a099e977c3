// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapters/adapters_device.h"
#include "kernels/cuda/launch.cuh"

namespace orrery::device {

template void add_adapters(CudaQueue&, const cpu::AdapterShape&, const cpu::AdapterOperands&);

}  // namespace orrery::device
