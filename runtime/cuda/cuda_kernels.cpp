// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_kernels.h"

#include "runtime/cuda/kernel_launches.h"

namespace orrery {

std::string why_not_on_cuda(const KernelCall& call) {
    if (call.dtype != Dtype::fp32 && call.dtype != Dtype::bf16) {
        return "a GPU has no kernels for " + std::string{name(call.dtype)} + " here yet";
    }
    if (device::device_kernel<device::CudaQueue>(call.kind) == nullptr &&
        launch_binder_of<device::CudaQueue>(call.kind) == nullptr) {
        return std::string{name(call.kind)} + " is not connected to the CUDA kernels yet";
    }
    return device::why_not_on_cuda(call);
}

void run_on_cuda(device::CudaQueue& queue, const BoundOp& op) {
    launch_kernel(queue, op);
}

void add_on_cuda(device::CudaQueue& queue, ConstTensorView from, TensorView sum) {
    device::gradient_accumulate(queue, from, sum);
}

}  // namespace orrery
