// SPDX-License-Identifier: Apache-2.0
#include "runtime/attention_operands.h"

#include <algorithm>
#include <span>

#include "runtime/dropout_operands.h"
#include "runtime/state/redistribute.h"

namespace orrery {
namespace {

// A tensor that stands after the activations of an op: the scalars that dropout needs, or nothing.
ConstTensorView scalars_after(const BoundOp& op, std::size_t reads) {
    return op.reads.size() > reads ? op.reads[reads].view : TensorView{};
}

// Which heads of the model's a rank has, and the place of the mask.
cpu::AttentionDropout dropout_of(const BoundOp& op,
                                 const AttentionShape& shape,
                                 const BoundOperand& context,
                                 const BoundOperand& statistics) {
    const Tensor& tensor = *context.tensor;
    const std::int64_t width = tensor.global_shape[kWidth];
    const std::int64_t first_column =
        local_range(width, kWidth, tensor.layout, op.program.mesh, op.rank).first;
    return {.key = dropout_place(op, *statistics.tensor),
            .first_head = first_column / shape.head_dim,
            .all_heads = width / shape.head_dim,
            .sequence = tensor.global_shape[kSequence]};
}

// What a ring's op says of the work, it works on: the tokens that are there, masked by where they
// stand.
template <class Operands>
AttentionCall<Operands> call_of(const BoundOp& op,
                                const BoundOperand& query,
                                const BoundOperand& key) {
    AttentionCall<Operands> call{
        .shape = attention_shape(op.call), .positions = {}, .operands = {}};
    call.positions.query = op.shape_of(query).positions;
    call.positions.key = op.shape_of(key).positions;
    call.shape.seq_q = call.positions.query.length;
    call.shape.seq_kv = call.positions.key.length;
    call.shape.causal = true;
    return call;
}

// Keys and values of a ring's block, or of what a whole layer's product has beside its queries.
template <class View>
auto keys_in(const AttentionShape& shape, View view, bool block) {
    return block ? cpu::block_key(shape, view) : cpu::packed_key(shape, view);
}

template <class View>
auto values_in(const AttentionShape& shape, View view, bool block) {
    return block ? cpu::block_value(shape, view) : cpu::packed_value(shape, view);
}

// Only a ring's step has a result beside dqkv.
bool is_ring_backward(const BoundOp& op) {
    return op.writes.size() + op.accumulates.size() > 1;
}

}  // namespace

AttentionCall<cpu::AttentionForward> attention_forward_call(const BoundOp& op) {
    const BoundOperand& qkv = op.reads[0];
    const bool ring = op.writes.empty();  // a block that is not the first
    const BoundOperand& keys = ring ? op.reads[1] : qkv;
    const std::vector<BoundOperand>& results = ring ? op.accumulates : op.writes;
    auto call = call_of<cpu::AttentionForward>(op, qkv, keys);
    const AttentionShape& shape = call.shape;
    call.scalars = scalars_after(op, ring ? 2 : 1);
    call.operands = {.q = cpu::packed_query(shape, ConstTensorView(qkv.view)),
                     .k = keys_in(shape, ConstTensorView(keys.view), ring),
                     .v = values_in(shape, ConstTensorView(keys.view), ring),
                     .output = results[0].view,
                     .log_sum_exp = results[1].view,
                     .merge = ring};
    if (!call.scalars.empty()) {
        call.operands.dropout = dropout_of(op, shape, results[0], results[1]);
    }
    return call;
}

// reads qkv context statistics dcontext, writes dqkv. A step of a ring reads a block after qkv, and
// writes the block's gradient; the first step writes dqkv besides, and the others add to its
// queries.
AttentionCall<cpu::AttentionBackward> attention_backward_call(const BoundOp& op) {
    const bool ring = is_ring_backward(op);
    const BoundOperand& qkv = op.reads[0];
    const BoundOperand& keys = ring ? op.reads[1] : qkv;
    const std::span rest = std::span{op.reads}.subspan(ring ? 2 : 1);
    const TensorView dkeys = op.writes[0].view;
    const TensorView begun = begun_packed_gradient(op);
    const TensorView dqkv = !begun.empty() ? begun : ring ? op.accumulates[0].view : dkeys;
    auto call = call_of<cpu::AttentionBackward>(op, qkv, keys);
    const AttentionShape& shape = call.shape;
    call.scalars = scalars_after(op, ring ? 5 : 4);
    call.operands = {.q = cpu::packed_query(shape, ConstTensorView(qkv.view)),
                     .k = keys_in(shape, ConstTensorView(keys.view), ring),
                     .v = values_in(shape, ConstTensorView(keys.view), ring),
                     .output = rest[0].view,
                     .log_sum_exp = rest[1].view,
                     .doutput = rest[2].view,
                     .dq = cpu::packed_query(shape, dqkv),
                     .dk = keys_in(shape, dkeys, ring),
                     .dv = values_in(shape, dkeys, ring),
                     .accumulate_dq = ring && begun.empty()};
    if (!call.scalars.empty()) {
        call.operands.dropout = dropout_of(op, shape, rest[0], rest[1]);
    }
    return call;
}

TensorView begun_packed_gradient(const BoundOp& op) {
    const bool first = is_ring_backward(op) && op.accumulates.empty();
    return first ? op.writes[1].view : TensorView{};
}

namespace {

// The shape of one rank's attention that a product of all heads belongs to, from the packed tensor.
AttentionShape head_shape(const BoundOp& op, const BoundOperand& packed) {
    const LocalShape local = op.shape_of(packed);
    const Tensor& tensor = *packed.tensor;
    ORRERY_CHECK(tensor.column_parts.size() == 3 && local.batch > 0);
    const std::int64_t heads = op.call.dims[3] / local.batch;
    const std::int64_t query_columns =
        local_extent(tensor.column_parts[0], kWidth, tensor.layout, op.program.mesh);
    const std::int64_t key_columns =
        local_extent(tensor.column_parts[1], kWidth, tensor.layout, op.program.mesh);
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
