// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.cuh"
#include "kernels/softmax/softmax_device.h"

namespace orrery::device {

template void softmax_forward(
    CudaQueue&, const SoftmaxShape&, const cpu::SoftmaxArguments&, ConstTensorView, TensorView);
template void softmax_backward(
    CudaQueue&, const SoftmaxShape&, const cpu::SoftmaxArguments&, ConstTensorView, TensorView);

}  // namespace orrery::device
