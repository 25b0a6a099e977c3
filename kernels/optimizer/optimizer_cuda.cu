// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.cuh"
#include "kernels/optimizer/optimizer_device.h"

namespace orrery::device {

template void gradient_accumulate(CudaQueue&, ConstTensorView, TensorView);
template void gradient_norm(CudaQueue&, std::span<const ConstTensorView>, TensorView);
template void gradient_scale(CudaQueue&,
                             ConstTensorView,
                             ConstTensorView,
                             std::span<const TensorView>);
template void adamw(CudaQueue&,
                    ConstTensorView,
                    ParameterRounding,
                    std::span<const OptimizerTensor>);
template void lamb_update(CudaQueue&,
                          ConstTensorView,
                          std::span<const OptimizerTensor>,
                          TensorView);
template void lamb_apply(CudaQueue&,
                         ConstTensorView,
                         ConstTensorView,
                         ParameterRounding,
                         std::span<const OptimizerTensor>);

}  // namespace orrery::device
