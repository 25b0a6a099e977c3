// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.cuh"
#include "kernels/paged_attention/paged_attention_device.h"

namespace orrery::device {

template void rotate_and_store(CudaQueue&, const PagedShape&, const PagedStore&);
template void paged_attention(CudaQueue&, const PagedShape&, const PagedAttention&);
template void gather_context(CudaQueue&, const PagedShape&, const ContextGather&);

}  // namespace orrery::device
