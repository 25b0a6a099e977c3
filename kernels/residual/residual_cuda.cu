// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.cuh"
#include "kernels/residual/residual_device.h"

namespace orrery::device {

template void residual_add(CudaQueue&, ConstTensorView, ConstTensorView, TensorView);
template void residual_add_biases(CudaQueue&,
                                  std::int64_t,
                                  ConstTensorView,
                                  ConstTensorView,
                                  std::span<const ConstTensorView>,
                                  TensorView);
template void bias_dropout_add(CudaQueue&,
                               const ValueShard&,
                               const DropoutSource&,
                               const cpu::BiasDropoutAdd&,
                               ConstTensorView);
template void dropout_forward(
    CudaQueue&, const ValueShard&, const DropoutSource&, ConstTensorView, TensorView, TensorView);
template void masked_gradient(
    CudaQueue&, const DropoutSource&, ConstTensorView, ConstTensorView, TensorView);
template void bias_gradient(CudaQueue&, std::int64_t, std::int64_t, ConstTensorView, TensorView);

}  // namespace orrery::device
