// SPDX-License-Identifier: Apache-2.0
// LayerNorm and RMSNorm in the list of kernels (kernels/kernel_list.h). `Norm` has the work of the
// kernel and its functions for the CPU and the GPU. The weight is gamma, followed by beta for
// LayerNorm.
//   forward         reads x weight, writes y statistics
//   forward, fused  reads residual branch weight [bias …], writes y statistics sum
//   backward        reads dy x statistics [dresidual] weight, writes dx, accumulates dweight
#pragma once

#include "kernels/kernel_arguments.h"
#include "kernels/kernel_descriptor.h"
#include "kernels/norm_call.h"
#include "kernels/norm_operands.h"
#include "kernels/residual/residual_cpu.h"

namespace orrery::kernel {

inline cpu::NormShape norm_shape(const KernelCall& call) {
    return {.tokens = call.dims[0], .hidden = call.dims[1]};
}

inline std::string why_no_norm_on_cuda(const KernelCall& call) {
    return call.dims[1] <= device::kNormHiddenMax ? "" : "norms on a GPU take rows of up to 16384";
}

template <class Norm>
struct NormForward {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const std::vector<std::int64_t> x{call.dims[0], 1, call.dims[1]};
        const bool fused = call.variant == 1;
        forms.read(x);
        if (fused) {
            forms.read(x);
        }
        forms.read({Norm::kWork.vectors * call.dims[1]});
        forms.write(x);
        forms.add(Access::write, Dtype::fp32, {call.dims[0], 1, Norm::kWork.vectors});
        if (fused) {
            forms.write(x);
        }
        return true;
    }
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        OperandForms forms{call};
        operands(forms, call);
        ExpectedSizes e = sizes_of(forms);
        if (call.variant == 1) {
            e.optional_reads = {call.dims[1], call.dims[1]};
        }
        return compare(sizes, e);
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = Norm::kWork.forward,
        .call =
            [](const KernelCall& key) {
                return norm_forward(
                    Norm::kWork, key.dims[0], key.dims[1], key.dtype, key.variant == 1);
            },
        .operands = operands,
        .why_not = why_not};

    static void run(const KernelArguments& op) {
        const bool fused = op.call.variant == 1;
        cpu::NormForward norm{.x = op.reads[fused ? 1 : 0].view,
                              .residual = fused ? op.reads[0].view : TensorView{},
                              .weight = op.reads[fused ? 2 : 1].view,
                              .sum = fused ? op.writes[2].view : TensorView{},
                              .y = op.writes[0].view,
                              .statistics = op.writes[1].view};
        if (fused && op.reads.size() > 3) {
            std::vector<ConstTensorView> biases;
            for (const BoundOperand& bias : op.reads.subspan(3)) {
                biases.push_back(bias.view);
            }
            cpu::residual_add_biases(
                op.call.dims[1], op.reads[0].view, op.reads[1].view, biases, norm.sum);
            norm.x = norm.sum;
            norm.residual = {};
            norm.sum = {};
        }
        Norm::run_forward(norm_shape(op.call), norm);
    }
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        const bool fused = op.call.variant == 1;
        const auto bias = [&](std::size_t i) -> ConstTensorView {
            return fused && op.reads.size() > i ? op.reads[i].view : TensorView{};
        };
        ORRERY_CHECK(op.reads.size() <= 5);
        Norm::launch_forward(queue,
                             norm_shape(op.call),
                             cpu::NormForward{.x = op.reads[fused ? 1 : 0].view,
                                              .residual = fused ? op.reads[0].view : TensorView{},
                                              .weight = op.reads[fused ? 2 : 1].view,
                                              .sum = fused ? op.writes[2].view : TensorView{},
                                              .y = op.writes[0].view,
                                              .statistics = op.writes[1].view},
                             device::NormBiases{.first = bias(3), .second = bias(4)});
    }
    static std::string why_not_on_cuda(const KernelCall& call) { return why_no_norm_on_cuda(call); }
};

template <class Norm>
struct NormBackward {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const std::vector<std::int64_t> x{call.dims[0], 1, call.dims[1]};
        forms.read(x);
        forms.read(x);
        forms.add({.dtype = Dtype::fp32,
                   .shape = {call.dims[0], 1, Norm::kWork.vectors},
                   .values = OperandValues::positive});
        if (call.variant == 1) {
            forms.read(x);
        }
        forms.read({Norm::kWork.vectors * call.dims[1]});
        forms.write(x);
        forms.add(Access::accumulate, Dtype::fp32, {Norm::kWork.vectors * call.dims[1]});
        return true;
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = Norm::kWork.backward,
        .call =
            [](const KernelCall& key) {
                return norm_backward(
                    Norm::kWork, key.dims[0], key.dims[1], key.dtype, key.variant == 1);
            },
        .operands = operands};

    static cpu::NormBackward arguments(const KernelArguments& op) {
        return {.dy = op.reads[0].view,
                .x = op.reads[1].view,
                .weight = op.reads.back().view,
                .dresidual = op.call.variant == 1 ? op.reads[3].view : TensorView{},
                .statistics = op.reads[2].view,
                .dx = op.writes[0].view,
                .dweight = op.accumulates[0].view};
    }
    static void run(const KernelArguments& op) {
        Norm::run_backward(norm_shape(op.call), arguments(op));
    }
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        Norm::launch_backward(queue, norm_shape(op.call), arguments(op));
    }
    static std::string why_not_on_cuda(const KernelCall& call) { return why_no_norm_on_cuda(call); }
};

}  // namespace orrery::kernel
