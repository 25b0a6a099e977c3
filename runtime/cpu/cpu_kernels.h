// SPDX-License-Identifier: Apache-2.0
// Runs the kernel ops of a Program on the CPU kernels. runtime/kernel_operands.h defines their
// operands.
#pragma once

#include <string>

#include "runtime/bound_op.h"

namespace orrery {

// The reason why the CPU cannot run this call, or empty.
std::string why_not_on_cpu(const KernelCall& call);

void run_on_cpu(const BoundOp& op);

}  // namespace orrery
