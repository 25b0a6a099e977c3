// SPDX-License-Identifier: Apache-2.0
// The activation function of an MLP as ops: one kernel, or the chain of an unfused plan.
#pragma once

#include "models/segments/block_builder.h"

namespace orrery {

// y = f(fc1). `weights`: a number for each row that its output is multiplied by, or null.
void activation_ops(BlockBuilder& b, const Value& fc1, const Value* weights, const Value& y);
// dx of dy and fc1. `weights` and `dweights`: null without.
void activation_backward_ops(BlockBuilder& b,
                             const Value& dy,
                             const Value& fc1,
                             const Value* weights,
                             const Value* dweights,
                             const Value& dx);

}  // namespace orrery
