// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/cpu_attention.h"

#include <cstring>

#include "engine/base/check.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/attention/unfused_attention_cpu.h"
#include "kernels/residual/residual_cpu.h"
#include "kernels/softmax/softmax_cpu.h"
#include "runtime/attention_operands.h"
#include "runtime/cpu/cpu_dropout.h"
#include "runtime/kernel_shapes.h"

namespace orrery {
namespace {

// Adds the values of the scalars to the dropout's key and rate.
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

void run_head_product(const BoundOp& op) {
    cpu::multiply_heads(head_product(op));
}

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
    if (op.reads.size() == 2) {
        const LocalShape local = op.shape_of(op.writes[0]);
        return cpu::join_key_value(
            local.sequence * local.batch, op.reads[0].view, op.reads[1].view, op.writes[0].view);
    }
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
