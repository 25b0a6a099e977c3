// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.cuh"
#include "kernels/embedding/embedding_device.h"

namespace orrery::device {

template void embedding_forward(
    CudaQueue&, const cpu::EmbeddingShape&, ConstTensorView, ConstTensorView, TensorView);
template void embedding_backward(
    CudaQueue&, const cpu::EmbeddingShape&, ConstTensorView, ConstTensorView, TensorView);
template void position_forward(CudaQueue&, const cpu::PositionShape&, ConstTensorView, TensorView);
template void position_backward(CudaQueue&, const cpu::PositionShape&, ConstTensorView, TensorView);

}  // namespace orrery::device
