// SPDX-License-Identifier: Apache-2.0
// The operands of kernel ops, in order: what the lowering writes and what an executor reads. Each
// kernel's folder lists its own (kernels/NAME/NAME_kernels.h): [ ] may be absent; … are several.
// Activations are (sequence, batch, width), row-major. Scalars stand with attention, softmax and
// residual_add where the model has dropout.
#pragma once

#include <string>

#include "engine/program/program.h"

namespace orrery {

// What is wrong with the operands of a kernel op: their number, or a size that does not go with the
// call's dimensions. Empty if nothing is. `rank`: any rank of the op's role.
std::string check_kernel_operands(const Program& program, RankId rank, const Op& op);

}  // namespace orrery
