// SPDX-License-Identifier: Apache-2.0
// The ops of attention (models/blocks/attention_lowering.cpp, models/blocks/unfused_attention.cpp)
// on the CPU kernels. Where queries and keys stand follows from the layouts of the tensors that
// hold them, so a step of a context-parallel ring is the op whose block of keys and values is
// another rank's.
#pragma once

#include "runtime/bound_op.h"

namespace orrery {

void run_attention_forward(const BoundOp& op);
void run_attention_backward(const BoundOp& op);
// A product of all heads: an operand of it is a column part of packed Q, K and V.
void run_head_product(const BoundOp& op);
void run_softmax_forward(const BoundOp& op);
void run_softmax_backward(const BoundOp& op);
// Keys and values of packed Q, K and V side by side.
void run_key_value_block(const BoundOp& op);
// sum += …, where a sum of packed Q, K and V gets the gradients of its keys and values.
void run_gradient_sum(const BoundOp& op);

}  // namespace orrery
