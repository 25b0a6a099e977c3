// SPDX-License-Identifier: Apache-2.0
// What an op of attention asks a device's kernels for. Where queries and keys stand follows
// from the layouts of the tensors that hold them, so a step of a context-parallel ring is the op
// whose block of keys and values is another rank's. The key of the dropout has neither the seed nor
// the first round of the device scalars (runtime/dropout_operands.h).
#pragma once

#include "kernels/attention/attention_cpu.h"
#include "kernels/attention/head_products.h"
#include "runtime/bound_op.h"

namespace orrery {

template <class Operands>
struct AttentionCall {
    AttentionShape shape;
    cpu::AttentionPositions positions;
    Operands operands;
    ConstTensorView scalars{};  // empty: no dropout
};

AttentionCall<cpu::AttentionForward> attention_forward_call(const BoundOp& op);
AttentionCall<cpu::AttentionBackward> attention_backward_call(const BoundOp& op);

// The packed gradient whose queries a ring's first step writes, with nothing for K and V yet: its
// keys and values are to be set to zero. Empty for other ops.
TensorView begun_packed_gradient(const BoundOp& op);

// A product of unfused attention: an operand of it is a column part of packed Q, K and V.
bool is_head_product(const BoundOp& op);
// Which of the six, by the parts that it reads and writes.
HeadProduct head_product(const BoundOp& op);

// Only tokens and heads count: where keys and values lie in packed columns, of which `kv_width` are
// theirs.
AttentionShape packed_shape(const BoundOp& op, const BoundOperand& packed, std::int64_t kv_width);

}  // namespace orrery
