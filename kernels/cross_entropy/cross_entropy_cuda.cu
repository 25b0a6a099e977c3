// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy/cross_entropy_device.h"
#include "kernels/cuda/launch.cuh"

namespace orrery::device {

template void cross_entropy_maximum(CudaQueue&,
                                    const cpu::CrossEntropyShape&,
                                    ConstTensorView,
                                    TensorView);
template void cross_entropy_sums(CudaQueue&,
                                 const cpu::CrossEntropyShape&,
                                 ConstTensorView,
                                 ConstTensorView,
                                 const cpu::LossStatistics&);
template void cross_entropy_local(CudaQueue&,
                                  const cpu::CrossEntropyShape&,
                                  ConstTensorView,
                                  ConstTensorView,
                                  const cpu::LossStatistics&,
                                  TensorView);
template void cross_entropy_rescale(CudaQueue&, ConstTensorView, const cpu::LossStatistics&);
template void cross_entropy_finish(CudaQueue&,
                                   std::int64_t,
                                   ConstTensorView,
                                   const cpu::LossStatistics&,
                                   ConstTensorView,
                                   TensorView,
                                   TensorView);
template void cross_entropy_backward(CudaQueue&,
                                     const cpu::CrossEntropyShape&,
                                     ConstTensorView,
                                     const cpu::LossStatistics&,
                                     ConstTensorView,
                                     TensorView,
                                     ConstTensorView);

}  // namespace orrery::device
