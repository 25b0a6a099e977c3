// SPDX-License-Identifier: Apache-2.0
// The order of the operands of kernel ops, which the lowering writes and an executor reads. Each
// kernel's folder lists its own (kernels/NAME/NAME_kernels.h): [ ] is optional; … means several.
// Activations are (sequence, batch, width), row-major. Attention, softmax and residual_add have
// scalars if the model has dropout.
#pragma once

#include <string>

#include "engine/program/program.h"

namespace orrery {

// The error in the operands of a kernel op: their number, or a size that does not match the call's
// dimensions. Empty if there is none. `rank` is any rank of the op's role.
std::string check_kernel_operands(const Program& program, RankId rank, const Op& op);

}  // namespace orrery
