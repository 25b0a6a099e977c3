// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/cpu_kernels.h"

#include "engine/base/check.h"
#include "engine/program/device_scalars.h"
#include "kernels/cpu_kernels.h"
#include "kernels/cross_entropy/cross_entropy_cpu.h"
#include "kernels/embedding/embedding_cpu.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_cpu.h"
#include "kernels/gemm/grouped_gemm.h"
#include "kernels/gemm/grouped_gemm_cpu.h"
#include "kernels/residual/residual_cpu.h"
#include "kernels/rope/rope_cpu.h"
#include "runtime/attention_operands.h"
#include "runtime/cpu/cpu_attention.h"
#include "runtime/cpu/cpu_dropout.h"
#include "runtime/cpu/cpu_step_end.h"
#include "runtime/kernel_choices.h"

namespace orrery {
namespace {

// Products of experts, whose rows are counted at run time.
void run_grouped_gemm(const BoundOp& op) {
    const std::int64_t n = op.call.dims[1];
    const std::int64_t k = op.call.dims[2];
    const std::span<const std::int32_t> counts = ids(op.reads[2].view);
    const std::vector<std::int64_t> rows(counts.begin(), counts.end());
    const TensorView c = op.output().view;
    const bool adds = op.writes.empty();
    if (!op.reads[0].transposed) {
        const TensorView weights = op.reads[1].view;
        cpu::grouped_gemm({.rows = rows,
                           .n = n,
                           .k = k,
                           .transpose_b = op.reads[1].transposed,
                           .matrices = weights.size / (n * k)},
                          op.reads[0].view,
                          weights,
                          c,
                          adds);
        return;
    }
    const std::int64_t inputs = op.call.dims[0];
    cpu::grouped_gemm_weights(
        {.rows = rows, .n = n, .k = inputs, .matrices = c.size / (n * inputs)},
        op.reads[0].view,
        op.reads[1].view,
        c,
        adds);
}

void run_gemm(const BoundOp& op) {
    if (is_head_product(op)) {
        return run_head_product(op);
    }
    if (is_grouped(op.call)) {
        return run_grouped_gemm(op);
    }
    const auto [m, n, k] = std::array{op.call.dims[0], op.call.dims[1], op.call.dims[2]};
    const BoundOperand& a = op.reads[0];
    const BoundOperand& b = op.reads[1];
    const BoundOperand& c = op.output();
    const cpu::GemmEpilogueArguments epilogue{
        .accumulate = op.writes.empty(),
        .bias = op.reads.size() > 2 ? op.reads[2].view : TensorView{}};
    if (!c.transposed) {
        const cpu::GemmShape rows{.m = m / c.blocks,
                                  .n = n,
                                  .k = k,
                                  .transpose_a = a.transposed,
                                  .transpose_b = b.transposed};
        for (std::int64_t i = 0; i < c.blocks; ++i) {
            cpu::gemm(rows, a.block(i), b.view, c.block(i), epilogue);
        }
        return;
    }
    // C^T = B^T A^T
    ORRERY_CHECK(epilogue.bias.empty());
    cpu::gemm({.m = n, .n = m, .k = k, .transpose_a = !b.transposed, .transpose_b = !a.transposed},
              b.view,
              a.view,
              c.view,
              epilogue);
}

void run_rope(const BoundOp& op) {
    choose_rope(op, cpu::rope_forward, cpu::rope_backward);
}

void run_residual_add(const BoundOp& op) {
    if (op.call.variant == 1) {
        return run_bias_dropout_add(op);
    }
    if (kernel::is_up(op.reads[0])) {
        return cpu::gate_product(
            kernel::activation_shape(op.call), op.reads[0].view, op.accumulates[0].view);
    }
    if (op.writes.empty() && op.reads[0].tensor->parameter.empty()) {
        return run_gradient_sum(op);
    }
    if (op.writes.empty()) {
        const BoundOperand& x = op.accumulates[0];
        cpu::position_forward(position_shape(op, x), op.reads[0].view, x.view);
        return;
    }
    std::vector<ConstTensorView> biases;
    for (std::size_t i = 2; i < op.reads.size(); ++i) {
        biases.push_back(op.reads[i].view);
    }
    cpu::residual_add_biases(
        op.call.dims[1], op.reads[0].view, op.reads[1].view, biases, op.writes[0].view);
}

void run_bias_gradient(const BoundOp& op) {
    choose_bias_gradient(op, cpu::bias_gradient, cpu::position_backward);
}

void run_embedding(const BoundOp& op) {
    choose_embedding(op, cpu::embedding_forward, cpu::embedding_backward);
}

void run_cross_entropy_forward(const BoundOp& op) {
    const cpu::CrossEntropyShape shape = cross_entropy_shape(op, op.reads[0]);
    if (op.reads.size() == 2 && op.writes.empty()) {
        cpu::cross_entropy_rescale(
            op.reads[0].view,
            {.maximum = op.reads[1].view, .sum_exp = op.accumulates[0].view, .target_logit = {}});
        return;
    }
    if (!op.writes.empty()) {
        cpu::cross_entropy_local(shape,
                                 op.reads[0].view,
                                 op.reads[1].view,
                                 loss_statistics(op.writes, 0),
                                 widened_logits(op.writes, 3));
        return;
    }
    // The mean: fp32 losses of the tokens, then their weighted sum.
    std::vector<float> losses(static_cast<std::size_t>(shape.tokens));
    const cpu::LossSum sum = cpu::cross_entropy_finish(
        op.reads[0].view, loss_statistics(op.reads, 1), view_of(std::span<float>{losses}));
    const float scale = device_scalar(op.reads.back().view, DeviceScalar::loss_scale);
    const TensorView loss = op.accumulates[0].view;
    store(loss, 0, load(loss, 0) + static_cast<float>(sum.sum * static_cast<double>(scale)));
}

void run_cross_entropy_backward(const BoundOp& op) {
    cpu::cross_entropy_backward(cross_entropy_shape(op, op.accumulates[0]),
                                op.reads[0].view,
                                loss_statistics(op.reads, 1),
                                device_scalar(op.reads.back().view, DeviceScalar::loss_scale),
                                op.accumulates[0].view,
                                op.reads.size() > 5 ? op.reads[4].view : TensorView{});
}

using Binder = void (*)(const BoundOp&);

// For the kernels whose arguments depend on where a shard lies in its tensor.
Binder binder_of(KernelKind kind) {
    switch (kind) {
        case KernelKind::gemm:
            return run_gemm;
        case KernelKind::attention_forward:
            return run_attention_forward;
        case KernelKind::attention_backward:
            return run_attention_backward;
        case KernelKind::softmax_forward:
            return run_softmax_forward;
        case KernelKind::softmax_backward:
            return run_softmax_backward;
        case KernelKind::transpose:
            return run_key_value_block;
        case KernelKind::dropout:
            return run_dropout;
        case KernelKind::rope:
            return run_rope;
        case KernelKind::residual_add:
            return run_residual_add;
        case KernelKind::bias_gradient:
            return run_bias_gradient;
        case KernelKind::embedding_forward:
        case KernelKind::embedding_backward:
            return run_embedding;
        case KernelKind::cross_entropy_forward:
            return run_cross_entropy_forward;
        case KernelKind::cross_entropy_backward:
            return run_cross_entropy_backward;
        case KernelKind::gradient_norm:
            return run_gradient_norm;
        case KernelKind::gradient_scale:
            return run_gradient_scale;
        case KernelKind::adamw:
            return run_adamw;
        case KernelKind::lamb_update:
            return run_lamb_update;
        case KernelKind::lamb:
            return run_lamb;
        default:
            return nullptr;
    }
}

}  // namespace

std::string why_not_on_cpu(const KernelCall& call) {
    if (call.dtype != Dtype::fp32 && call.dtype != Dtype::bf16 &&
        call.kind != KernelKind::expert_counts) {
        return "the CPU has no kernels for " + std::string{name(call.dtype)};
    }
    if (cpu_kernel(call.kind) == nullptr && binder_of(call.kind) == nullptr) {
        return std::string{name(call.kind)} + " is not connected to the CPU kernels yet";
    }
    if (call.kind == KernelKind::cast && call.variant != static_cast<std::uint8_t>(Dtype::fp32) &&
        call.variant != static_cast<std::uint8_t>(Dtype::bf16)) {
        return "the CPU casts between fp32 and bf16 only";
    }
    return {};
}

void run_on_cpu(const BoundOp& op) {
    if (const CpuKernel kernel = cpu_kernel(op.call.kind)) {
        return kernel(op.arguments());
    }
    const Binder bind = binder_of(op.call.kind);
    ORRERY_CHECK(bind != nullptr);
    bind(op);
}

}  // namespace orrery
