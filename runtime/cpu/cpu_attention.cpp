// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/cpu_attention.h"

#include <cmath>
#include <cstring>
#include <span>

#include "engine/check.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/attention/unfused_attention_cpu.h"
#include "kernels/residual/residual_cpu.h"
#include "kernels/softmax/softmax_cpu.h"
#include "runtime/cpu/cpu_dropout.h"
#include "runtime/state/redistribute.h"

namespace orrery {
namespace {

// A tensor that stands after the activations of an op: the scalars that dropout needs, or nothing.
ConstTensorView scalars_after(const BoundOp& op, std::size_t reads) {
    return op.reads.size() > reads ? op.reads[reads].view : TensorView{};
}

// Which heads of the model's a rank has, and the key of the mask.
cpu::AttentionDropout dropout_of(const BoundOp& op,
                                 const AttentionShape& shape,
                                 const BoundOperand& context,
                                 const BoundOperand& statistics,
                                 ConstTensorView scalars) {
    if (scalars.empty()) {
        return {};
    }
    const Tensor& tensor = *context.tensor;
    const std::int64_t width = tensor.global_shape[kWidth];
    const std::int64_t first_column =
        local_range(width, kWidth, tensor.layout, op.program.mesh, op.rank).first;
    const cpu::DropoutArguments dropout = dropout_arguments(op, *statistics.tensor, scalars);
    return {.key = dropout.key,
            .rate = dropout.rate,
            .first_head = first_column / shape.head_dim,
            .all_heads = width / shape.head_dim,
            .sequence = tensor.global_shape[kSequence]};
}

// What a ring's op says of the work, it works on: the tokens that are there, masked by where they
// stand.
struct AttentionWork {
    AttentionShape shape;
    cpu::AttentionPositions positions;
};

AttentionWork work_of(const BoundOp& op, const BoundOperand& query, const BoundOperand& key) {
    AttentionWork work{.shape = attention_shape(op.call), .positions = {}};
    work.positions.query = op.shape_of(query).positions;
    work.positions.key = op.shape_of(key).positions;
    work.shape.seq_q = work.positions.query.length;
    work.shape.seq_kv = work.positions.key.length;
    work.shape.causal = true;
    return work;
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

}  // namespace

void run_attention_forward(const BoundOp& op) {
    const BoundOperand& qkv = op.reads[0];
    const bool ring = op.writes.empty();  // a block that is not the first
    const BoundOperand& keys = ring ? op.reads[1] : qkv;
    const std::vector<BoundOperand>& results = ring ? op.accumulates : op.writes;
    const auto [shape, positions] = work_of(op, qkv, keys);
    const ConstTensorView scalars = scalars_after(op, ring ? 2 : 1);
    cpu::attention_forward(shape,
                           positions,
                           {.q = cpu::packed_query(shape, qkv.view),
                            .k = keys_in(shape, ConstTensorView(keys.view), ring),
                            .v = values_in(shape, ConstTensorView(keys.view), ring),
                            .output = results[0].view,
                            .log_sum_exp = results[1].view,
                            .merge = ring,
                            .dropout = dropout_of(op, shape, results[0], results[1], scalars)});
}

// reads qkv context statistics dcontext, writes dqkv. A step of a ring reads a block after qkv, and
// writes the block's gradient; the first step writes dqkv besides, with nothing for K and V yet,
// and the others add to its queries.
void run_attention_backward(const BoundOp& op) {
    // Only a ring's step has a result beside dqkv.
    const bool ring = op.writes.size() + op.accumulates.size() > 1;
    const bool first = ring && op.accumulates.empty();
    const BoundOperand& qkv = op.reads[0];
    const BoundOperand& keys = ring ? op.reads[1] : qkv;
    const std::span rest = std::span{op.reads}.subspan(ring ? 2 : 1);
    const TensorView dkeys = op.writes[0].view;
    const TensorView dqkv = first ? op.writes[1].view : ring ? op.accumulates[0].view : dkeys;
    const auto [shape, positions] = work_of(op, qkv, keys);
    if (first) {
        std::memset(dqkv.data, 0, static_cast<std::size_t>(dqkv.size * size_bytes(dqkv.dtype)));
    }
    cpu::attention_backward(
        shape,
        positions,
        {.q = cpu::packed_query(shape, qkv.view),
         .k = keys_in(shape, ConstTensorView(keys.view), ring),
         .v = values_in(shape, ConstTensorView(keys.view), ring),
         .output = rest[0].view,
         .log_sum_exp = rest[1].view,
         .doutput = rest[2].view,
         .dq = cpu::packed_query(shape, dqkv),
         .dk = keys_in(shape, dkeys, ring),
         .dv = values_in(shape, dkeys, ring),
         .accumulate_dq = ring,
         .dropout = dropout_of(op, shape, rest[0], rest[1], scalars_after(op, ring ? 5 : 4))});
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

// Which of attention's six products it is, by the parts that it reads and writes.
void run_head_product(const BoundOp& op) {
    const BoundOperand& x = op.reads[0];
    const BoundOperand& y = op.reads[1];
    const BoundOperand& result = op.writes[0];
    constexpr int kWhole = -1;
    const AttentionShape shape =
        head_shape(op, result.part != kWhole ? result : (x.part != kWhole ? x : y));
    if (x.part == 0 && y.part == 1) {
        return cpu::attention_scores(
            shape, cpu::packed_query(shape, x.view), cpu::packed_key(shape, y.view), result.view);
    }
    switch (result.part) {
        case 0:
            return cpu::attention_query_gradient(shape,
                                                 x.view,
                                                 cpu::packed_key(shape, y.view),
                                                 cpu::packed_query(shape, result.view));
        case 1:
            return cpu::attention_key_gradient(shape,
                                               x.view,
                                               cpu::packed_query(shape, y.view),
                                               cpu::packed_key(shape, result.view));
        case 2:
            return cpu::attention_value_gradient(
                shape, x.view, y.view, cpu::packed_value(shape, result.view));
        default:
            break;
    }
    const cpu::ConstTokenColumns values = cpu::packed_value(shape, y.view);
    if (y.transposed) {
        cpu::attention_probability_gradient(shape, x.view, values, result.view);
    } else {
        cpu::attention_context(shape, x.view, values, result.view);
    }
}

namespace {

SoftmaxShape softmax_shape(const KernelCall& call) {
    return {.batch = call.dims[0],
            .heads = call.dims[1],
            .seq_q = call.dims[2],
            .seq_kv = call.dims[3],
            .causal = (call.variant & 1) != 0,
            .dropout = (call.variant & 2) != 0,
            .head_dim = call.dims[4],
            .window = call.dims[5],
            .unfused_steps = (call.variant & 4) != 0};
}

cpu::SoftmaxArguments softmax_arguments(const SoftmaxShape& shape) {
    return {.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim)), .window = shape.window};
}

}  // namespace

void run_softmax_forward(const BoundOp& op) {
    const SoftmaxShape shape = softmax_shape(op.call);
    cpu::softmax_forward(shape, softmax_arguments(shape), op.reads[0].view, op.writes[0].view);
    if (shape.dropout) {
        const BoundOperand& mask = op.writes[1];
        cpu::dropout_forward(value_shard(op, mask),
                             dropout_arguments(op, *mask.tensor, op.reads[1].view),
                             op.writes[0].view,
                             op.writes[2].view,
                             mask.view);
    }
}

void run_softmax_backward(const BoundOp& op) {
    const SoftmaxShape shape = softmax_shape(op.call);
    const TensorView gradient = op.accumulates[0].view;
    if (shape.dropout) {
        apply_dropout_mask(op.reads[1].view, op.reads[2].view, gradient, gradient);
    }
    cpu::softmax_backward(shape, softmax_arguments(shape), op.reads[0].view, gradient);
}

namespace {

// Only tokens and heads count: where keys and values lie in packed columns.
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

}  // namespace

void run_key_value_block(const BoundOp& op) {
    const AttentionShape shape = packed_shape(op, op.reads[0], op.shape_of(op.writes[0]).width);
    cpu::copy_key_value(shape, op.reads[0].view, op.writes[0].view);
}

void run_gradient_sum(const BoundOp& op) {
    const BoundOperand& sum = op.accumulates[0];
    if (op.reads[0].view.size == sum.view.size) {
        cpu::residual_add(sum.view, op.reads[0].view, sum.view);
        return;
    }
    const AttentionShape shape = packed_shape(op, sum, op.shape_of(op.reads[0]).width);
    for (const BoundOperand& block : op.reads) {
        cpu::add_key_value(shape, block.view, sum.view);
    }
}

}  // namespace orrery
