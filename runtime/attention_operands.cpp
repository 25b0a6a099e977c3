// SPDX-License-Identifier: Apache-2.0
#include "runtime/attention_operands.h"

#include <algorithm>
#include <span>

#include "runtime/dropout_operands.h"
#include "runtime/state/redistribute.h"

namespace orrery {
namespace {

// The heads of the model that a rank has, and the place of the mask.
cpu::AttentionDropout dropout_of(const BoundOp& op,
                                 const AttentionShape& shape,
                                 const BoundOperand& context,
                                 const BoundOperand& statistics) {
    const Tensor& tensor = *context.tensor;
    const std::int64_t width = tensor.global_shape[kWidth];
    const std::int64_t first_column =
        local_range(width, kWidth, tensor.layout, op.program.mesh_of(op.rank), op.rank).first;
    return {.key = dropout_place(op, *statistics.tensor),
            .first_head = first_column / shape.head_dim,
            .all_heads = width / shape.head_dim,
            .sequence = tensor.global_shape[kSequence]};
}

// The keys and values of a ring's block, or of the packed tensor.
template <class View>
auto keys_in(const AttentionShape& shape, View view, bool block) {
    return block ? cpu::block_key(shape, view) : cpu::packed_key(shape, view);
}

template <class View>
auto values_in(const AttentionShape& shape, View view, bool block) {
    return block ? cpu::block_value(shape, view) : cpu::packed_value(shape, view);
}

// The operands of both passes: packed Q, K and V, or its queries and a ring's block of keys and
// values. The work covers all present tokens, masked by their positions.
template <class Operands>
AttentionCall<Operands> call_of(const BoundOp& op, bool ring) {
    const BoundOperand& query = op.reads[0];
    const BoundOperand& key = op.reads[ring ? 1 : 0];
    AttentionCall<Operands> call{
        .shape = attention_shape(op.call), .positions = {}, .operands = {}};
    AttentionShape& shape = call.shape;
    call.positions.query = op.shape_of(query).positions;
    call.positions.key = op.shape_of(key).positions;
    shape.seq_q = call.positions.query.length;
    shape.seq_kv = call.positions.key.length;
    shape.causal = true;
    call.operands.q = cpu::packed_query(shape, ConstTensorView(query.view));
    call.operands.k = keys_in(shape, ConstTensorView(key.view), ring);
    call.operands.v = values_in(shape, ConstTensorView(key.view), ring);
    return call;
}

// Sets the dropout, whose scalars follow the activations.
template <class Operands>
void set_dropout(const BoundOp& op,
                 std::size_t reads,
                 const BoundOperand& context,
                 const BoundOperand& statistics,
                 AttentionCall<Operands>& call) {
    if (op.reads.size() > reads) {
        call.scalars = op.reads[reads].view;
        call.operands.dropout = dropout_of(op, call.shape, context, statistics);
    }
}

// Only a step of a ring has another result besides dqkv.
bool is_ring_backward(const BoundOp& op) {
    return op.writes.size() + op.accumulates.size() > 1;
}

}  // namespace

AttentionCall<cpu::AttentionForward> attention_forward_call(const BoundOp& op) {
    const bool ring = op.writes.empty();  // a block other than the first
    const std::vector<BoundOperand>& results = ring ? op.accumulates : op.writes;
    auto call = call_of<cpu::AttentionForward>(op, ring);
    call.operands.output = results[0].view;
    call.operands.log_sum_exp = results[1].view;
    call.operands.merge = ring;
    set_dropout(op, ring ? 2 : 1, results[0], results[1], call);
    return call;
}

// reads qkv context statistics dcontext, writes dqkv. A step of a ring reads a block after qkv, and
// writes the block's gradient. The first step also writes dqkv; the others add to its queries.
AttentionCall<cpu::AttentionBackward> attention_backward_call(const BoundOp& op) {
    const bool ring = is_ring_backward(op);
    const std::span rest = std::span{op.reads}.subspan(ring ? 2 : 1);
    const TensorView dkeys = op.writes[0].view;
    const TensorView begun = begun_packed_gradient(op);
    const TensorView dqkv = !begun.empty() ? begun : ring ? op.accumulates[0].view : dkeys;
    auto call = call_of<cpu::AttentionBackward>(op, ring);
    call.operands.output = rest[0].view;
    call.operands.log_sum_exp = rest[1].view;
    call.operands.doutput = rest[2].view;
    call.operands.dq = cpu::packed_query(call.shape, dqkv);
    call.operands.dk = keys_in(call.shape, dkeys, ring);
    call.operands.dv = values_in(call.shape, dkeys, ring);
    call.operands.accumulate_dq = ring && begun.empty();
    set_dropout(op, ring ? 5 : 4, rest[0], rest[1], call);
    return call;
}

TensorView begun_packed_gradient(const BoundOp& op) {
    const bool first = is_ring_backward(op) && op.accumulates.empty();
    return first ? op.writes[1].view : TensorView{};
}

namespace {

// The shape of one rank's attention for a product of all heads, from the packed tensor.
AttentionShape head_shape(const BoundOp& op, const BoundOperand& packed) {
    const LocalShape local = op.shape_of(packed);
    const Tensor& tensor = *packed.tensor;
    ORRERY_CHECK(tensor.column_parts.size() == 3 && local.batch > 0);
    const std::int64_t heads = op.call.dims[3] / local.batch;
    const std::int64_t query_columns =
        local_extent(tensor.column_parts[0], kWidth, tensor.layout, op.program.mesh_of(op.rank));
    const std::int64_t key_columns =
        local_extent(tensor.column_parts[1], kWidth, tensor.layout, op.program.mesh_of(op.rank));
    const std::int64_t head_dim = query_columns / heads;
    return {.batch = local.batch,
            .seq_q = local.sequence,
            .seq_kv = local.sequence,
            .heads = heads,
            .kv_heads = key_columns / head_dim,
            .head_dim = head_dim};
}

}  // namespace

bool is_head_product(const BoundOp& op) {
    const auto is_part = [](const BoundOperand& operand) { return operand.part >= 0; };
    return std::ranges::any_of(op.reads, is_part) || std::ranges::any_of(op.writes, is_part);
}

HeadProduct head_product(const BoundOp& op) {
    const BoundOperand& x = op.reads[0];
    const BoundOperand& y = op.reads[1];
    const BoundOperand& result = op.writes[0];
    constexpr int kWhole = -1;
    const AttentionShape shape =
        head_shape(op, result.part != kWhole ? result : (x.part != kWhole ? x : y));
    if (x.part == 0 && y.part == 1) {
        return attention_scores(
            shape, cpu::packed_query(shape, x.view), cpu::packed_key(shape, y.view), result.view);
    }
    switch (result.part) {
        case 0:
            return attention_query_gradient(shape,
                                            x.view,
                                            cpu::packed_key(shape, y.view),
                                            cpu::packed_query(shape, result.view));
        case 1:
            return attention_key_gradient(shape,
                                          x.view,
                                          cpu::packed_query(shape, y.view),
                                          cpu::packed_key(shape, result.view));
        case 2:
            return attention_value_gradient(
                shape, x.view, y.view, cpu::packed_value(shape, result.view));
        default:
            break;
    }
    const cpu::ConstTokenColumns values = cpu::packed_value(shape, y.view);
    return y.transposed ? attention_probability_gradient(shape, x.view, values, result.view)
                        : attention_context(shape, x.view, values, result.view);
}

AttentionShape packed_shape(const BoundOp& op, const BoundOperand& packed, std::int64_t kv_width) {
    const LocalShape local = op.shape_of(packed);
    const std::int64_t kv = kv_width / 2;
    return {.batch = local.batch,
            .seq_q = local.sequence,
            .seq_kv = local.sequence,
            .heads = (local.width - kv_width) / kv,
            .kv_heads = 1,
            .head_dim = kv};
}

}  // namespace orrery
