// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels that a kernel op launches, on any queue (kernels/cuda/queue.h): the counterpart
// of runtime/cpu/cpu_kernels.cpp. A file that instantiates launch_kernel() must have the kernels'
// host functions for its queue: from the .cu files for CudaQueue, from
// runtime/cuda/kernel_definitions.h for other queues.
#pragma once

#include "engine/base/check.h"
#include "engine/program/device_scalars.h"
#include "kernels/attention/attention_cuda.h"
#include "kernels/cross_entropy/cross_entropy_cuda.h"
#include "kernels/cuda/device_kernels.h"
#include "kernels/embedding/embedding_cuda.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/optimizer/optimizer_cuda.h"
#include "kernels/residual/residual_cuda.h"
#include "kernels/rope/rope_cuda.h"
#include "kernels/softmax/softmax_cuda.h"
#include "runtime/attention_operands.h"
#include "runtime/dropout_operands.h"
#include "runtime/kernel_choices.h"
#include "runtime/parameter_rounding.h"

namespace orrery {

inline const float* scalars_on_device(ConstTensorView scalars) {
    ORRERY_CHECK(scalars.empty() || scalars.size == kNumDeviceScalars);
    return scalars.empty() ? nullptr : reinterpret_cast<const float*>(scalars.data);
}

template <class Queue>
void launch_attention_forward(Queue& queue, const BoundOp& op) {
    const auto call = attention_forward_call(op);
    device::attention_forward(
        queue, call.shape, call.positions, call.operands, scalars_on_device(call.scalars));
}

template <class Queue>
void launch_attention_backward(Queue& queue, const BoundOp& op) {
    const auto call = attention_backward_call(op);
    if (const TensorView begun = begun_packed_gradient(op); !begun.empty()) {
        const AttentionShape& s = call.shape;
        const std::int64_t width = 2 * s.kv_heads * s.head_dim;
        device::clear_key_value(queue, s.seq_q * s.batch, width, begun);
    }
    device::attention_backward(
        queue, call.shape, call.positions, call.operands, scalars_on_device(call.scalars));
}

// reads scores [scalars], writes p [mask dropped].
template <class Queue>
void launch_softmax_forward(Queue& queue, const BoundOp& op) {
    const SoftmaxShape shape = softmax_shape(op.call);
    const TensorView p = op.writes[0].view;
    device::softmax_forward(queue, shape, softmax_arguments(shape), op.reads[0].view, p);
    if (shape.dropout) {
        const BoundOperand& mask = op.writes[1];
        device::dropout_forward(
            queue,
            value_shard(op, mask),
            {dropout_place(op, *mask.tensor), scalars_on_device(op.reads[1].view)},
            p,
            op.writes[2].view,
            mask.view);
    }
}

// reads p [mask scalars], accumulates gradient.
template <class Queue>
void launch_softmax_backward(Queue& queue, const BoundOp& op) {
    const SoftmaxShape shape = softmax_shape(op.call);
    const TensorView gradient = op.accumulates[0].view;
    if (shape.dropout) {
        device::masked_gradient(queue,
                                {RandomKey{}, scalars_on_device(op.reads[2].view)},
                                op.reads[1].view,
                                gradient,
                                gradient);
    }
    device::softmax_backward(queue, shape, softmax_arguments(shape), op.reads[0].view, gradient);
}

template <class Queue>
void launch_key_value_block(Queue& queue, const BoundOp& op) {
    const LocalShape local = op.shape_of(op.writes[0]);
    const std::int64_t width = local.width;
    if (op.reads.size() == 2) {
        device::join_key_value(queue,
                               local.sequence * local.batch,
                               op.reads[0].view,
                               op.reads[1].view,
                               op.writes[0].view);
        return;
    }
    device::copy_key_value(queue, width, op.reads[0].view, op.writes[0].view);
}

// sum += ...; a sum of packed Q, K and V may add the gradients of its keys and values.
template <class Queue>
void launch_gradient_sum(Queue& queue, const BoundOp& op) {
    const BoundOperand& sum = op.accumulates[0];
    if (op.reads[0].view.size == sum.view.size) {
        device::residual_add(queue, sum.view, op.reads[0].view, sum.view);
        return;
    }
    for (const BoundOperand& block : op.reads) {
        device::add_key_value(queue, op.shape_of(block).width, block.view, sum.view);
    }
}

template <class Queue>
void launch_rope(Queue& queue, const BoundOp& op) {
    choose_rope(
        op,
        [&](const auto&... of) { device::rope_forward(queue, of...); },
        [&](const auto&... of) { device::rope_backward(queue, of...); });
}

// reads residual branch [bias ...] scalars, writes sum mask.
template <class Queue>
void launch_bias_dropout_add(Queue& queue, const BoundOp& op) {
    const BoundOperand& mask = op.writes[1];
    const std::size_t biases = op.reads.size() - 3;
    ORRERY_CHECK(biases <= 2);
    const auto bias = [&](std::size_t i) -> ConstTensorView {
        return i < biases ? op.reads[2 + i].view : TensorView{};
    };
    device::bias_dropout_add(
        queue,
        value_shard(op, mask),
        {dropout_place(op, *mask.tensor), scalars_on_device(op.reads.back().view)},
        {.branch = op.reads[1].view,
         .bias = bias(0),
         .residual = op.reads[0].view,
         .sum = op.writes[0].view,
         .mask = mask.view},
        bias(1));
}

// Forward: reads scalars, writes mask, in place. Backward: reads dy mask scalars, writes dx.
template <class Queue>
void launch_dropout(Queue& queue, const BoundOp& op) {
    const float* scalars = scalars_on_device(op.reads.back().view);
    if (op.accumulates.empty()) {
        device::masked_gradient(
            queue, {RandomKey{}, scalars}, op.reads[1].view, op.reads[0].view, op.writes[0].view);
        return;
    }
    const BoundOperand& mask = op.writes[0];
    const TensorView x = op.accumulates[0].view;
    device::dropout_forward(
        queue, value_shard(op, mask), {dropout_place(op, *mask.tensor), scalars}, x, x, mask.view);
}

template <class Queue>
void launch_residual_add(Queue& queue, const BoundOp& op) {
    if (op.call.variant == 1) {
        launch_bias_dropout_add(queue, op);
        return;
    }
    if (kernel::is_up(op.reads[0])) {
        device::gate_product(
            queue, kernel::activation_shape(op.call), op.reads[0].view, op.accumulates[0].view);
        return;
    }
    if (op.writes.empty() && op.reads[0].tensor->parameter.empty()) {
        launch_gradient_sum(queue, op);
        return;
    }
    if (op.writes.empty()) {
        const BoundOperand& x = op.accumulates[0];
        device::position_forward(queue, position_shape(op, x), op.reads[0].view, x.view);
        return;
    }
    std::vector<ConstTensorView> biases;
    for (std::size_t i = 2; i < op.reads.size(); ++i) {
        biases.push_back(op.reads[i].view);
    }
    device::residual_add_biases(queue,
                                op.call.dims[1],
                                op.reads[0].view,
                                op.reads[1].view,
                                std::span<const ConstTensorView>{biases},
                                op.writes[0].view);
}

template <class Queue>
void launch_bias_gradient(Queue& queue, const BoundOp& op) {
    choose_bias_gradient(
        op,
        [&](const auto&... of) { device::bias_gradient(queue, of...); },
        [&](const auto&... of) { device::position_backward(queue, of...); });
}

template <class Queue>
void launch_embedding(Queue& queue, const BoundOp& op) {
    choose_embedding(
        op,
        [&](const auto&... of) { device::embedding_forward(queue, of...); },
        [&](const auto&... of) { device::embedding_backward(queue, of...); });
}

inline ConstTensorView scalar_view(ConstTensorView scalars, DeviceScalar scalar) {
    return slice(scalars, static_cast<std::int64_t>(scalar), 1);
}

template <class Queue>
void launch_cross_entropy_forward(Queue& queue, const BoundOp& op) {
    if (op.reads.size() == 2 && op.writes.empty()) {
        device::cross_entropy_rescale(
            queue,
            op.reads[0].view,
            {.maximum = op.reads[1].view, .sum_exp = op.accumulates[0].view, .target_logit = {}});
    } else if (!op.writes.empty()) {
        device::cross_entropy_local(queue,
                                    cross_entropy_shape(op, op.reads[0]),
                                    op.reads[0].view,
                                    op.reads[1].view,
                                    loss_statistics(op.writes, 0),
                                    widened_logits(op.writes, 3));
    } else {
        device::cross_entropy_finish(queue,
                                     op.call.dims[0],
                                     op.reads[0].view,
                                     loss_statistics(op.reads, 1),
                                     scalar_view(op.reads.back().view, DeviceScalar::loss_scale),
                                     op.accumulates[0].view,
                                     TensorView{});
    }
}

template <class Queue>
void launch_cross_entropy_backward(Queue& queue, const BoundOp& op) {
    device::cross_entropy_backward(queue,
                                   cross_entropy_shape(op, op.accumulates[0]),
                                   op.reads[0].view,
                                   loss_statistics(op.reads, 1),
                                   scalar_view(op.reads.back().view, DeviceScalar::loss_scale),
                                   op.accumulates[0].view,
                                   op.reads.size() > 5 ? op.reads[4].view : TensorView{});
}

template <class Queue>
void launch_gradient_norm(Queue& queue, const BoundOp& op) {
    std::vector<ConstTensorView> gradients;
    for (const BoundOperand& gradient : op.reads) {
        gradients.push_back(gradient.view);
    }
    device::gradient_norm(queue, std::span<const ConstTensorView>{gradients}, op.writes[0].view);
}

template <class Queue>
void launch_gradient_scale(Queue& queue, const BoundOp& op) {
    std::vector<TensorView> gradients;
    for (const BoundOperand& gradient : op.accumulates) {
        gradients.push_back(gradient.view);
    }
    device::gradient_scale(
        queue, op.reads[0].view, op.reads[1].view, std::span<const TensorView>{gradients});
}

// The tensors of an optimizer kernel. `state` has m of all tensors, then v of all tensors, then the
// masters of all tensors if weights have them.
inline std::vector<device::OptimizerTensor> optimizer_tensors(
    const BoundOp& op,
    std::span<const BoundOperand> gradients,
    std::span<const BoundOperand> weights,
    TensorView state) {
    const std::int64_t elements = op.call.dims[0];
    std::vector<device::OptimizerTensor> tensors;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const BoundOperand& weight = weights[i];
        const std::int64_t size = weight.view.size;
        const auto part = [&](std::int64_t section) {
            return slice(state, section * elements + first, size);
        };
        tensors.push_back({.tensors = {.gradient = gradients[i].view,
                                       .m = part(0),
                                       .v = part(1),
                                       .master = has_master(op.call) ? part(2) : TensorView{},
                                       .parameter = weight.view},
                           .decays = !is_vector(*weight.tensor),
                           .stream = rounding_stream(weight),
                           .place = parameter_place(op, weight),
                           .counts = weight.counts});
        first += size;
    }
    ORRERY_CHECK(first <= elements);  // shards may be padded
    return tensors;
}

inline device::ParameterRounding rounding_of(const BoundOp& op) {
    return rounds_stochastically(op.writes.front()) ? device::ParameterRounding::stochastic
                                                    : device::ParameterRounding::nearest;
}

// reads gradient ... scalars, writes weight ..., accumulates state.
template <class Queue>
void launch_adamw(Queue& queue, const BoundOp& op) {
    const auto tensors = optimizer_tensors(op, op.reads, op.writes, op.accumulates[0].view);
    device::adamw(queue,
                  op.reads.back().view,
                  rounding_of(op),
                  std::span<const device::OptimizerTensor>{tensors});
}

// reads weight ... scalars, writes norms, accumulates gradient ... (becomes the update) state.
template <class Queue>
void launch_lamb_update(Queue& queue, const BoundOp& op) {
    const std::span weights = std::span{op.reads}.first(op.reads.size() - 1);
    const auto tensors = optimizer_tensors(op, op.accumulates, weights, op.accumulates.back().view);
    device::lamb_update(queue,
                        op.reads.back().view,
                        std::span<const device::OptimizerTensor>{tensors},
                        op.writes[0].view);
}

// reads update ... scalars norms, writes weight ..., accumulates state.
template <class Queue>
void launch_lamb(Queue& queue, const BoundOp& op) {
    const auto tensors = optimizer_tensors(op, op.reads, op.writes, op.accumulates[0].view);
    device::lamb_apply(queue,
                       op.reads[op.reads.size() - 2].view,
                       op.reads.back().view,
                       rounding_of(op),
                       std::span<const device::OptimizerTensor>{tensors});
}

template <class Queue>
using LaunchBinder = void (*)(Queue&, const BoundOp&);

// For the kernels whose arguments depend on where a shard lies in its tensor. cuBLASLt runs matrix
// products (kernels/gemm).
template <class Queue>
LaunchBinder<Queue> launch_binder_of(KernelKind kind) {
    switch (kind) {
        case KernelKind::attention_forward:
            return launch_attention_forward<Queue>;
        case KernelKind::attention_backward:
            return launch_attention_backward<Queue>;
        case KernelKind::softmax_forward:
            return launch_softmax_forward<Queue>;
        case KernelKind::softmax_backward:
            return launch_softmax_backward<Queue>;
        case KernelKind::transpose:
            return launch_key_value_block<Queue>;
        case KernelKind::dropout:
            return launch_dropout<Queue>;
        case KernelKind::rope:
            return launch_rope<Queue>;
        case KernelKind::residual_add:
            return launch_residual_add<Queue>;
        case KernelKind::bias_gradient:
            return launch_bias_gradient<Queue>;
        case KernelKind::embedding_forward:
        case KernelKind::embedding_backward:
            return launch_embedding<Queue>;
        case KernelKind::cross_entropy_forward:
            return launch_cross_entropy_forward<Queue>;
        case KernelKind::cross_entropy_backward:
            return launch_cross_entropy_backward<Queue>;
        case KernelKind::gradient_norm:
            return launch_gradient_norm<Queue>;
        case KernelKind::gradient_scale:
            return launch_gradient_scale<Queue>;
        case KernelKind::adamw:
            return launch_adamw<Queue>;
        case KernelKind::lamb_update:
            return launch_lamb_update<Queue>;
        case KernelKind::lamb:
            return launch_lamb<Queue>;
        default:
            return nullptr;
    }
}

template <class Queue>
void launch_kernel(Queue& queue, const BoundOp& op) {
    if (const device::DeviceKernel<Queue> kernel = device::device_kernel<Queue>(op.call.kind)) {
        return kernel(queue, op.arguments());
    }
    const LaunchBinder<Queue> bind = launch_binder_of<Queue>(op.call.kind);
    ORRERY_CHECK(bind != nullptr);
    bind(queue, op);
}

}  // namespace orrery
