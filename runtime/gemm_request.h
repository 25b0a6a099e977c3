// SPDX-License-Identifier: Apache-2.0
// The matrix product that a gemm op of a Program stands for (kernels/gemm/gemm_layout.h).
#pragma once

#include "kernels/gemm/gemm_layout.h"
#include "runtime/bound_op.h"

namespace orrery {

GemmRequest gemm_request(const BoundOp& op, std::int32_t reserved_sms = 0);

}  // namespace orrery
