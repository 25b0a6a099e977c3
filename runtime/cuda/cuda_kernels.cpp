// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_kernels.h"

#include "runtime/cuda/kernel_launches.h"

namespace orrery {

std::string why_not_on_cuda(const KernelCall& call) {
    if (call.dtype != Dtype::fp32 && call.dtype != Dtype::bf16) {
        return "a GPU has no kernels for " + std::string{name(call.dtype)} + " here yet";
    }
    if (launcher_of<device::CudaQueue>(call.kind) == nullptr) {
        return std::string{name(call.kind)} + " is not connected to the CUDA kernels yet";
    }
    switch (call.kind) {
        case KernelKind::attention_forward:
        case KernelKind::attention_backward:
            return device::why_no_attention(attention_shape(call), call.dtype);
        case KernelKind::layernorm_forward:
        case KernelKind::layernorm_backward:
        case KernelKind::rmsnorm_forward:
        case KernelKind::rmsnorm_backward:
            return call.dims[1] <= device::kNormHiddenMax
                       ? std::string{}
                       : "norms on a GPU take rows of up to 16384";
        case KernelKind::rope:
            return call.dims[2] <= device::kRopeHeadMax && call.dims[2] % 2 == 0
                       ? std::string{}
                       : "rope on a GPU takes even head sizes up to 256";
        default:
            return {};
    }
}

void run_on_cuda(device::CudaQueue& queue, const BoundOp& op) {
    launch_kernel(queue, op);
}

void add_on_cuda(device::CudaQueue& queue, ConstTensorView from, TensorView sum) {
    device::gradient_accumulate(queue, from, sum);
}

}  // namespace orrery
