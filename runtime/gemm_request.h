// SPDX-License-Identifier: Apache-2.0
// The matrix product that a gemm op of a Program stands for (kernels/gemm/gemm_layout.h), or the
// products, where it is one of unfused attention's.
#pragma once

#include <vector>

#include "kernels/gemm/gemm_cuda.h"
#include "runtime/bound_op.h"

namespace orrery {

// Of an op that is one product.
GemmRequest gemm_request(const BoundOp& op, std::int32_t reserved_sms = 0);

struct GemmCall {
    GemmRequest request;
    GemmPointers pointers;
};
// With the alignment that its operands have: heads, and pieces of tokens, begin where they begin.
GemmCall aligned_call(GemmCall call);
// In the order in which they are to be done.
std::vector<GemmCall> gemm_calls(const BoundOp& op, std::int32_t reserved_sms = 0);

}  // namespace orrery
