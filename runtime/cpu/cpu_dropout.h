// SPDX-License-Identifier: Apache-2.0
// Dropout on the CPU with the elements of runtime/dropout_operands.h. A rate of 0 (evaluation)
// keeps all elements.
#pragma once

#include "kernels/residual/residual_cpu.h"
#include "runtime/bound_op.h"
#include "runtime/dropout_operands.h"

namespace orrery {

// The key of a place (dropout_place()) and the rate, completed by the scalars.
cpu::DropoutArguments with_scalars(RandomKey place, ConstTensorView scalars);
// For the mask `mask` that an op writes.
cpu::DropoutArguments dropout_arguments(const BoundOp& op,
                                        const Tensor& mask,
                                        ConstTensorView scalars);
// dx = dy / (1 - rate) where the mask has a 1, else 0; dx may alias dy.
void apply_dropout_mask(ConstTensorView mask,
                        ConstTensorView scalars,
                        ConstTensorView dy,
                        TensorView dx);

// residual_add with dropout of the branch.
void run_bias_dropout_add(const BoundOp& op);
void run_dropout(const BoundOp& op);

}  // namespace orrery
