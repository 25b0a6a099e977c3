// SPDX-License-Identifier: Apache-2.0
// Which elements a dropout op keeps, on every device: a pure function of (seed, purpose, layer,
// micro-batch of the run, element of the whole value), so that no sharding, schedule or
// recomputation changes it. Purpose and layer stand at the mask's tensor; the seed, the run's first
// micro-batch of the step and the rate in the device scalars.
#pragma once

#include "kernels/random.h"
#include "kernels/value_shard.h"
#include "runtime/bound_op.h"

namespace orrery {

// The key of the mask `mask` that an op makes, but for what the device scalars hold: no seed, and a
// round that counts from theirs.
RandomKey dropout_place(const BoundOp& op, const Tensor& mask);
// The part of a whole activation that this rank has.
ValueShard value_shard(const BoundOp& op, const BoundOperand& activation);

}  // namespace orrery
