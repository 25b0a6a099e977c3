// SPDX-License-Identifier: Apache-2.0
// The backward pass alone, because nvcc takes as long for it as for all other attention: two cores
// share the work.
#include "kernels/attention/attention_device.h"
#include "kernels/cuda/launch.cuh"

namespace orrery::device {

template void attention_backward(CudaQueue&,
                                 const AttentionShape&,
                                 const cpu::AttentionPositions&,
                                 const cpu::AttentionBackward&,
                                 const float*);

}  // namespace orrery::device
