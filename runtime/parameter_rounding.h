// SPDX-License-Identifier: Apache-2.0
// How an optimizer op rounds the parameters that it steps, on every device. Where the Program says
// so at a parameter's tensor, up with the probability of the discarded part; the random number is a
// pure function of (seed, parameter, step, element of the whole parameter), so that no sharding
// changes it. Seed and step are device scalars.
#pragma once

#include "kernels/optimizer/parameter_place.h"
#include "runtime/bound_op.h"

namespace orrery {

bool rounds_stochastically(const BoundOperand& weight);
// The stream of the random numbers of a parameter.
std::uint32_t rounding_stream(const BoundOperand& weight);
// Of the elements that this rank updates; only where they are rounded stochastically.
ParameterPlace parameter_place(const BoundOp& op, const BoundOperand& weight);

}  // namespace orrery
