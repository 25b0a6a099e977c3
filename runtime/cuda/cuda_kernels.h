// SPDX-License-Identifier: Apache-2.0
// Runs the kernel ops of a Program on the CUDA kernels, except matrix products.
// runtime/kernel_operands.h defines their operands.
#pragma once

#include <string>

#include "kernels/cuda/queue.h"
#include "runtime/bound_op.h"

namespace orrery {

// The reason why a GPU cannot run this call, or empty.
std::string why_not_on_cuda(const KernelCall& call);

// Enqueues the kernels. The queue has their errors.
void run_on_cuda(device::CudaQueue& queue, const BoundOp& op);

// sum += from
void add_on_cuda(device::CudaQueue& queue, ConstTensorView from, TensorView sum);

// The scratch memory that run_on_cuda() needs from the queue. Reads no operand.
std::int64_t scratch_bytes_on_cuda(const BoundOp& op);

}  // namespace orrery
