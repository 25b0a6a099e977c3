// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention_device.h"
#include "kernels/cuda/launch.cuh"

namespace orrery::device {

template void attention_forward(CudaQueue&,
                                const AttentionShape&,
                                const cpu::AttentionPositions&,
                                const cpu::AttentionForward&);
template void attention_backward(CudaQueue&,
                                 const AttentionShape&,
                                 const cpu::AttentionPositions&,
                                 const cpu::AttentionBackward&);

}  // namespace orrery::device
