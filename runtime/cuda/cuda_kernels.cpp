// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_kernels.h"

#include "engine/check.h"

namespace orrery {

std::string why_not_on_cuda(const KernelCall& call) {
    return std::string{name(call.kind)} + " is not connected to the CUDA kernels yet";
}

void run_on_cuda(device::CudaQueue&, const BoundOp&) {
    ORRERY_CHECK(false);
}

void add_on_cuda(device::CudaQueue&, ConstTensorView, TensorView) {
    ORRERY_CHECK(false);
}

std::int64_t scratch_bytes_on_cuda(const BoundOp&) {
    return 0;
}

}  // namespace orrery
