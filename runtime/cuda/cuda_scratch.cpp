// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_kernels.h"
#include "runtime/cuda/kernel_definitions.h"
#include "runtime/cuda/kernel_launches.h"

namespace orrery {

std::int64_t scratch_bytes_on_cuda(const BoundOp& op) {
    device::RecordingQueue queue;
    launch_kernel(queue, op);
    return queue.scratch_bytes();
}

}  // namespace orrery
