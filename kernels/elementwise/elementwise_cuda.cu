// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.cuh"
#include "kernels/elementwise/elementwise_device.h"

namespace orrery::device {

template void reduce_local(CudaQueue&, std::span<const ConstTensorView>, TensorView);
template void transpose(CudaQueue&, std::int64_t, std::int64_t, ConstTensorView, TensorView);
template void scale_add(CudaQueue&, float, ConstTensorView, float, TensorView);
template void checksum(CudaQueue&, ConstTensorView, TensorView);

}  // namespace orrery::device
