// SPDX-License-Identifier: Apache-2.0
// The ops of attention (models/blocks/attention_lowering.cpp, models/blocks/unfused_attention.cpp)
// on the CPU kernels. runtime/attention_operands.h explains their operands.
#pragma once

#include "runtime/bound_op.h"

namespace orrery {

void run_attention_forward(const BoundOp& op);
void run_attention_backward(const BoundOp& op);
// A product of all heads: one of its operands is a column part of packed Q, K and V.
void run_head_product(const BoundOp& op);
void run_softmax_forward(const BoundOp& op);
void run_softmax_backward(const BoundOp& op);
// Copies keys and values of packed Q, K and V side by side.
void run_key_value_block(const BoundOp& op);
// sum += …; a sum of packed Q, K and V may add the gradients of its keys and values.
void run_gradient_sum(const BoundOp& op);

}  // namespace orrery
