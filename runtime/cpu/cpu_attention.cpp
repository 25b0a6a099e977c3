// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/cpu_attention.h"

#include <cmath>
#include <cstring>

#include "engine/check.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/attention/unfused_attention_cpu.h"
#include "kernels/residual/residual_cpu.h"
#include "kernels/softmax/softmax_cpu.h"
#include "runtime/attention_operands.h"
#include "runtime/cpu/cpu_dropout.h"
#include "runtime/state/redistribute.h"

namespace orrery {
namespace {

// The dropout's key and rate, with what the scalars hold.
void resolve(cpu::AttentionDropout& dropout, ConstTensorView scalars) {
    if (!scalars.empty()) {
        const cpu::DropoutArguments known = with_scalars(dropout.key, scalars);
        dropout.key = known.key;
        dropout.rate = known.rate;
    }
}

}  // namespace

void run_attention_forward(const BoundOp& op) {
    auto call = attention_forward_call(op);
    resolve(call.operands.dropout, call.scalars);
    cpu::attention_forward(call.shape, call.positions, call.operands);
}

void run_attention_backward(const BoundOp& op) {
    auto call = attention_backward_call(op);
    resolve(call.operands.dropout, call.scalars);
    if (const TensorView begun = begun_packed_gradient(op); !begun.empty()) {
        std::memset(begun.data, 0, static_cast<std::size_t>(begun.size * size_bytes(begun.dtype)));
    }
    cpu::attention_backward(call.shape, call.positions, call.operands);
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
