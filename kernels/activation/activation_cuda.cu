// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/activation_device.h"
#include "kernels/cuda/launch.cuh"

namespace orrery::device {

template void gelu_forward(CudaQueue&,
                           const cpu::ActivationShape&,
                           cpu::Ungated,
                           ConstTensorView,
                           ConstTensorView,
                           TensorView);
template void gelu_backward(CudaQueue&,
                            const cpu::ActivationShape&,
                            cpu::Ungated,
                            ConstTensorView,
                            ConstTensorView,
                            ConstTensorView,
                            TensorView);
template void swiglu_forward(CudaQueue&,
                             const cpu::ActivationShape&,
                             cpu::Gated,
                             ConstTensorView,
                             ConstTensorView,
                             TensorView,
                             bool);
template void swiglu_backward(CudaQueue&,
                              const cpu::ActivationShape&,
                              cpu::Gated,
                              ConstTensorView,
                              ConstTensorView,
                              ConstTensorView,
                              TensorView,
                              bool);
template void gate_product(CudaQueue&, const cpu::ActivationShape&, ConstTensorView, TensorView);

}  // namespace orrery::device
