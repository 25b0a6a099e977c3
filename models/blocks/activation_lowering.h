// SPDX-License-Identifier: Apache-2.0
// Ops of an MLP's activation function: one kernel, or a chain of kernels if the plan does not fuse
// it.
#pragma once

#include "models/segments/block_builder.h"

namespace orrery {

// y = f(fc1). `weights`: one factor for the output of each row, or null.
void activation_ops(BlockBuilder& b, const Value& fc1, const Value* weights, const Value& y);
// dx from dy and fc1. `weights` and its gradient `dweights` may be null.
void activation_backward_ops(BlockBuilder& b,
                             const Value& dy,
                             const Value& fc1,
                             const Value* weights,
                             const Value* dweights,
                             const Value& dx);

}  // namespace orrery
