// SPDX-License-Identifier: Apache-2.0
// Hands the kernel ops of a Program to the CPU kernels. Operands are those of
// runtime/kernel_operands.h.
#pragma once

#include <string>

#include "runtime/bound_op.h"

namespace orrery {

// Why the CPU can't run this call, or empty.
std::string why_not_on_cpu(const KernelCall& call);

void run_on_cpu(const BoundOp& op);

}  // namespace orrery
