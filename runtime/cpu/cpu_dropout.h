// SPDX-License-Identifier: Apache-2.0
// Dropout on the CPU, of the elements that runtime/dropout_operands.h names; a rate of 0
// (evaluation) keeps everything.
#pragma once

#include "kernels/residual/residual_cpu.h"
#include "runtime/bound_op.h"
#include "runtime/dropout_operands.h"

namespace orrery {

// The key of a place (dropout_place()) and the rate, with what the scalars hold.
cpu::DropoutArguments with_scalars(RandomKey place, ConstTensorView scalars);
// Of the mask `mask` that an op makes.
cpu::DropoutArguments dropout_arguments(const BoundOp& op,
                                        const Tensor& mask,
                                        ConstTensorView scalars);
// dx = dy / (1 - rate) where the mask has a 1, else 0; dx may be dy.
void apply_dropout_mask(ConstTensorView mask,
                        ConstTensorView scalars,
                        ConstTensorView dy,
                        TensorView dx);

// residual_add with dropout of the branch.
void run_bias_dropout_add(const BoundOp& op);
void run_dropout(const BoundOp& op);

}  // namespace orrery
