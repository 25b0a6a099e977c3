// SPDX-License-Identifier: Apache-2.0
// Hands the kernel ops of a Program to the CUDA kernels, all but matrix products. Operands are
// those of runtime/kernel_operands.h.
#pragma once

#include <string>

#include "kernels/cuda/queue.h"
#include "runtime/bound_op.h"

namespace orrery {

// Why a GPU can't run this call, or empty.
std::string why_not_on_cuda(const KernelCall& call);

// Enqueues the kernels; errors are the queue's.
void run_on_cuda(device::CudaQueue& queue, const BoundOp& op);

// sum += from
void add_on_cuda(device::CudaQueue& queue, ConstTensorView from, TensorView sum);

// The scratch memory that run_on_cuda() asks the queue for. Reads no operand.
std::int64_t scratch_bytes_on_cuda(const BoundOp& op);

}  // namespace orrery
