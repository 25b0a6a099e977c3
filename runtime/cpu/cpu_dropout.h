// SPDX-License-Identifier: Apache-2.0
// Dropout on the CPU: which elements are kept is a pure function of (seed, purpose, layer,
// micro-batch of the run, element of the whole value), so that no sharding, schedule or
// recomputation changes it. Purpose and layer stand at the mask's tensor, the rate and the seed in
// the device scalars; a rate of 0 (evaluation) keeps everything.
#pragma once

#include "kernels/residual/residual_cpu.h"
#include "runtime/bound_op.h"

namespace orrery {

// Of the mask `mask` that an op makes.
cpu::DropoutArguments dropout_arguments(const BoundOp& op,
                                        const Tensor& mask,
                                        ConstTensorView scalars);
// The part of a whole activation that this rank has.
ValueShard value_shard(const BoundOp& op, const BoundOperand& activation);
// dx = dy / (1 - rate) where the mask has a 1, else 0; dx may be dy.
void apply_dropout_mask(ConstTensorView mask,
                        ConstTensorView scalars,
                        ConstTensorView dy,
                        TensorView dx);

// residual_add with dropout of the branch.
void run_bias_dropout_add(const BoundOp& op);
void run_dropout(const BoundOp& op);

}  // namespace orrery
