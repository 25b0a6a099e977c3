// SPDX-License-Identifier: Apache-2.0
// Ops of an MLP's activation function: one kernel, or a chain of kernels if the plan does not fuse
// it.
#pragma once

#include "models/segments/block_builder.h"

namespace orrery {

// Whether the backward pass reads the function of a gate before its product with up. Autograd keeps
// it for the product's gradient; a runtime launched from C++ multiplies in place.
bool keeps_function_of_gate(const BlockBuilder& b, const Value* weights);

// y = f(fc1). `of_gate`: where the function of the gate is kept, or empty. `weights`: one factor
// for the output of each row, or null.
void activation_ops(BlockBuilder& b,
                    const Value& fc1,
                    const Value& of_gate,
                    const Value* weights,
                    const Value& y);
// dx from dy and fc1. `weights` and its gradient `dweights` may be null.
void activation_backward_ops(BlockBuilder& b,
                             const Value& dy,
                             const Value& fc1,
                             const Value& of_gate,
                             const Value* weights,
                             const Value* dweights,
                             const Value& dx);

// The same inside the products of experts, whose results and gradients are in MXFP8: what the
// products move besides.
void activation_of_product(BlockBuilder& b, const Value& fc1, const Value& weights, const Value& y);
void activation_of_product_backward(BlockBuilder& b,
                                    const Value& dy,
                                    const Value& fc1,
                                    const Value& weights,
                                    const Value& dweights,
                                    const Value& dx);

}  // namespace orrery
