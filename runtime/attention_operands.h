// SPDX-License-Identifier: Apache-2.0
// The call of a device's attention kernels for an op. The positions of queries and keys follow from
// the layouts of their tensors, so that a step of a context-parallel ring is an op whose block of
// keys and values belongs to another rank. The key of the dropout has neither the seed nor the
// first round, which are device scalars (runtime/dropout_operands.h).
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

// The packed gradient of a ring's first step, which writes its queries only: its keys and values
// must be set to zero. Empty for other ops.
TensorView begun_packed_gradient(const BoundOp& op);

// Whether the op is a product of unfused attention: one of its operands is a column part of packed
// Q, K and V.
bool is_head_product(const BoundOp& op);
// The one of the six products, by the parts that the op reads and writes.
HeadProduct head_product(const BoundOp& op);

// The shape of a packed tensor whose last `kv_width` columns are keys and values. Only tokens and
// heads are set.
AttentionShape packed_shape(const BoundOp& op, const BoundOperand& packed, std::int64_t kv_width);

}  // namespace orrery
