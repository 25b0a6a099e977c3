// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention_device.h"
#include "kernels/attention/key_value_device.h"
#include "kernels/cuda/launch.cuh"

namespace orrery::device {

template void attention_forward(CudaQueue&,
                                const AttentionShape&,
                                const cpu::AttentionPositions&,
                                const cpu::AttentionForward&,
                                const float*);
template void copy_key_value(CudaQueue&, std::int64_t, ConstTensorView, TensorView);
template void add_key_value(CudaQueue&, std::int64_t, ConstTensorView, TensorView);
template void join_key_value(
    CudaQueue&, std::int64_t, ConstTensorView, ConstTensorView, TensorView);
template void clear_key_value(CudaQueue&, std::int64_t, std::int64_t, TensorView);

}  // namespace orrery::device
