// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.cuh"
#include "kernels/router/router_device.h"

namespace orrery::device {

template void router_forward(
    CudaQueue&, const RouterShape&, ConstTensorView, ConstTensorView, TensorView, TensorView);
template void router_backward(
    CudaQueue&, const RouterShape&, ConstTensorView, ConstTensorView, ConstTensorView, TensorView);

}  // namespace orrery::device
