// SPDX-License-Identifier: Apache-2.0
// The matrix product that a gemm op of a Program describes (kernels/gemm/gemm_layout.h), or the
// products of an op of unfused attention.
#pragma once

#include <vector>

#include "kernels/gemm/gemm_cuda.h"
#include "runtime/bound_op.h"

namespace orrery {

// `op` must be a single product.
GemmRequest gemm_request(const BoundOp& op, std::int32_t reserved_sms = 0);

struct GemmCall {
    GemmRequest request;
    GemmPointers pointers;
};
// Sets the alignment of the operands' addresses: heads and pieces of tokens may start anywhere.
GemmCall aligned_call(GemmCall call);
// The products in the order of execution.
std::vector<GemmCall> gemm_calls(const BoundOp& op, std::int32_t reserved_sms = 0);

}  // namespace orrery
