// SPDX-License-Identifier: Apache-2.0
// The rounding of parameters in an optimizer op, on every device. If the parameter's tensor asks
// for it, rounding is up with a probability equal to the discarded part. The random number is a
// pure function of (seed, parameter, step, element of the whole parameter), so that no sharding
// changes it. Seed and step are device scalars.
#pragma once

#include "kernels/optimizer/parameter_place.h"
#include "runtime/bound_op.h"

namespace orrery {

bool rounds_stochastically(const BoundOperand& weight);
// The random stream of a parameter.
std::uint32_t rounding_stream(const BoundOperand& weight);
// The place of the elements that this rank updates. Only for stochastic rounding.
ParameterPlace parameter_place(const BoundOp& op, const BoundOperand& weight);

}  // namespace orrery
