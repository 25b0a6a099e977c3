// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast/cast_device.h"
#include "kernels/cuda/launch.cuh"

namespace orrery::device {

template void cast(CudaQueue&, ConstTensorView, TensorView);

}  // namespace orrery::device
