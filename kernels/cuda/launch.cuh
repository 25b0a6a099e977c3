// SPDX-License-Identifier: Apache-2.0
// Launches a kernel (kernels/cuda/block.h) on a stream. Each .cu file instantiates the host
// functions of its family for CudaQueue.
#pragma once

#include "kernels/cuda/queue.h"

namespace orrery::device {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreadsMax) run(const __grid_constant__ Kernel kernel) {
    CudaBlock block;
    kernel(block);
}

template <class Kernel>
void CudaQueue::launch(const Kernel& kernel, const Geometry& geometry) {
    constexpr int kWithoutAsking = 48 * 1024;
    if (geometry.blocks_x == 0 || geometry.blocks_y == 0 || error_ != 0) {
        return;
    }
    ORRERY_CHECK(geometry.threads <= Kernel::kThreadsMax && geometry.threads % kWarp == 0);
    ORRERY_CHECK(geometry.blocks_x < (std::int64_t{1} << 31) && geometry.blocks_y < (1 << 16));
    if (geometry.shared_bytes > kWithoutAsking) {
        error_ = cudaFuncSetAttribute(
            run<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, geometry.shared_bytes);
    }
    if (error_ == 0) {
        const dim3 grid{static_cast<unsigned>(geometry.blocks_x),
                        static_cast<unsigned>(geometry.blocks_y)};
        run<<<grid,
              static_cast<unsigned>(geometry.threads),
              static_cast<std::size_t>(geometry.shared_bytes),
              stream_>>>(kernel);
        error_ = cudaGetLastError();
    }
}

}  // namespace orrery::device
