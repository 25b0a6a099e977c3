// SPDX-License-Identifier: Apache-2.0
// The choice of a kernel for ops whose kind has several, and its arguments: one table for all
// devices. The functions are given in the order of the parameters' names, with the arguments of
// kernels/*/*_cpu.h.
#pragma once

#include "runtime/kernel_shapes.h"

namespace orrery {

template <class Forward, class Backward>
void choose_rope(const BoundOp& op, const Forward& forward, const Backward& backward) {
    const BoundOperand& qkv = op.accumulates[0];
    if (qkv.transposed) {
        backward(rope_shape(op, qkv), qkv.view);
    } else {
        forward(rope_shape(op, qkv), qkv.view);
    }
}

// The gradient of a bias, or of the position table.
template <class Bias, class Position>
void choose_bias_gradient(const BoundOp& op, const Bias& bias, const Position& position) {
    const std::int64_t columns = op.call.dims[1];
    const BoundOperand& dy = op.reads[0];
    const TensorView gradient = op.accumulates[0].view;
    if (gradient.size == columns) {
        bias(op.call.dims[0], columns, dy.view, gradient);
    } else {
        position(position_shape(op, dy), dy.view, gradient);
    }
}

template <class Forward, class Backward>
void choose_embedding(const BoundOp& op, const Forward& forward, const Backward& backward) {
    const ConstTensorView tokens = op.reads[0].view;
    const BoundOperand& other = op.reads[1];  // the table, or the gradient of its rows
    if (op.call.kind == KernelKind::embedding_forward) {
        forward(embedding_shape(op, other), tokens, other.view, op.writes[0].view);
    } else {
        const BoundOperand& gradient = op.accumulates[0];
        backward(embedding_shape(op, gradient), tokens, other.view, gradient.view);
    }
}

}  // namespace orrery
