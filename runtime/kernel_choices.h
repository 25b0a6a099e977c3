// SPDX-License-Identifier: Apache-2.0
// Which kernel an op asks for, where its kind has several, and with what: one table for all
// devices, whose functions are given, in the order of the parameters' names. They take what those
// of kernels/*/*_cpu.h take.
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

template <class GeluForward, class GeluBackward, class SwigluForward, class SwigluBackward>
void choose_activation(const BoundOp& op,
                       const GeluForward& gelu_forward,
                       const GeluBackward& gelu_backward,
                       const SwigluForward& swiglu_forward,
                       const SwigluBackward& swiglu_backward) {
    const cpu::ActivationShape shape = activation_shape(op.call);
    const cpu::Ungated ungated = ungated_function(op.call);
    const cpu::Gated gated = gated_function(op.call);
    const ConstTensorView first = op.reads[0].view;
    const ConstTensorView no_bias{};
    const TensorView result = op.writes[0].view;
    switch (op.call.kind) {
        case KernelKind::gelu_forward:
            return gelu_forward(shape, ungated, first, no_bias, result);
        case KernelKind::gelu_backward:
            return gelu_backward(shape, ungated, first, op.reads[1].view, no_bias, result);
        case KernelKind::swiglu_forward:
            return swiglu_forward(shape, gated, first, no_bias, result, !is_gate(op.reads[0]));
        default:
            return swiglu_backward(
                shape, gated, first, op.reads[1].view, no_bias, result, !is_gate(op.reads[1]));
    }
}

template <class Layernorm, class Rmsnorm>
void choose_norm_backward(const BoundOp& op, const Layernorm& layernorm, const Rmsnorm& rmsnorm) {
    const cpu::NormBackward operands{
        .dy = op.reads[0].view,
        .x = op.reads[1].view,
        .weight = op.reads.back().view,
        .dresidual = op.call.variant == 1 ? op.reads[3].view : TensorView{},
        .statistics = op.reads[2].view,
        .dx = op.writes[0].view,
        .dweight = op.accumulates[0].view};
    if (op.call.kind == KernelKind::layernorm_backward) {
        layernorm(norm_shape(op.call), operands);
    } else {
        rmsnorm(norm_shape(op.call), operands);
    }
}

// The gradient of a bias, or that of the positions.
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
