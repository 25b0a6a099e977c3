// SPDX-License-Identifier: Apache-2.0
// The elements that a dropout op keeps, on every device: a pure function of (seed, purpose, layer,
// micro-batch of the run, element of the whole activation). No sharding, schedule or recomputation
// changes it. Purpose and layer are in the mask's tensor. The seed, the run's first micro-batch of
// the step and the rate are device scalars.
#pragma once

#include "kernels/random.h"
#include "kernels/value_shard.h"
#include "runtime/bound_op.h"

namespace orrery {

// The key of the mask that an op writes, without the values of the device scalars: no seed, and a
// round relative to theirs.
RandomKey dropout_place(const BoundOp& op, const Tensor& mask);
// The part of a whole activation that this rank has.
ValueShard value_shard(const BoundOp& op, const BoundOperand& activation);

}  // namespace orrery
