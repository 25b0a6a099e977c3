// SPDX-License-Identifier: Apache-2.0
// Activations of the MLP in the list of kernels (kernels/kernel_list.h). The x of a gated
// activation is gate, then up.
//   gelu_, swiglu_forward   reads x (gate alone: y = f(gate)), writes y
//   gelu_, swiglu_backward  reads dy x (gate alone: no product with up), writes dx
// For experts (kernels/activation/weighted_activation_cpu.h), which use only the first rows:
//   ..._forward             reads x weights counts, writes y
//   ..._backward            reads dy x weights counts, writes dx dweights
#pragma once

#include "kernels/activation/activation.h"
#include "kernels/activation/activation_cuda.h"
#include "kernels/kernel_arguments.h"
#include "kernels/kernel_descriptor.h"

namespace orrery::kernel {

inline cpu::ActivationShape activation_shape(const KernelCall& call) {
    return {.tokens = call.dims[0], .ffn = call.dims[1]};
}
inline cpu::Ungated ungated_function(const KernelCall& call) {
    return call.variant == 1 ? cpu::Ungated::squared_relu : cpu::Ungated::gelu;
}
inline cpu::Gated gated_function(const KernelCall& call) {
    return call.variant == 1 ? cpu::Gated::geglu : cpu::Gated::swiglu;
}

// An unfused gated activation has two kernels: the first reads the gate, the second up.
inline bool is_gate(const BoundOperand& fc1) {
    return fc1.part == 0;
}
inline bool is_up(const BoundOperand& fc1) {
    return fc1.part == 1;
}

// x has `columns` columns for each column of y.
inline bool activation_operands(OperandForms& forms,
                                const KernelCall& call,
                                std::int64_t columns,
                                bool forward) {
    const std::vector<std::int64_t> x{call.dims[0], 1, columns * call.dims[1]};
    const std::vector<std::int64_t> y{call.dims[0], 1, call.dims[1]};
    if (!forward) {
        forms.read(y);
    }
    forms.read(x);
    forms.write(forward ? y : x);
    return true;
}

// Rows of experts have a weight each, and their tensors may have more rows than the call.
inline std::string activation_why_not(const KernelCall& call,
                                      const OperandSizes& sizes,
                                      std::int64_t columns,
                                      bool forward) {
    const std::size_t x = forward ? 0 : 1;
    if (sizes.reads.size() != x + 3) {
        OperandForms forms{call};
        activation_operands(forms, call, columns, forward);
        return compare(sizes, sizes_of(forms));
    }
    const std::int64_t rows = sizes.reads[x + 1];
    const std::int64_t ffn = call.dims[1];
    ExpectedSizes e{.reads = {}, .writes = {}, .accumulates = {}};
    e.reads = {rows * columns * ffn, rows, sizes.reads[x + 2]};
    e.writes = {rows * ffn};
    if (!forward) {
        e.reads.insert(e.reads.begin(), rows * ffn);
        e.writes = {rows * columns * ffn, rows};
    }
    return compare(sizes, e);
}

// If the operands have weights, runs the activation of experts and returns true.
bool run_weighted(const KernelArguments& op, bool gated, bool forward);

struct GeluForward {
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::gelu_forward,
        .epilogue = ProductEpilogue::gelu,
        .call =
            [](const KernelCall& key) {
                return gelu_forward(key.dims[0], key.dims[1], key.dtype, key.variant == 1);
            },
        .operands =
            [](OperandForms& forms, const KernelCall& call) {
                return activation_operands(forms, call, 1, true);
            },
        .why_not =
            [](const KernelCall& call, const OperandSizes& sizes) {
                return activation_why_not(call, sizes, 1, true);
            }};

    static void run(const KernelArguments& op) {
        if (run_weighted(op, false, true)) {
            return;
        }
        cpu::gelu_forward(activation_shape(op.call),
                          ungated_function(op.call),
                          op.reads[0].view,
                          {},
                          op.writes[0].view);
    }
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        device::gelu_forward(queue,
                             activation_shape(op.call),
                             ungated_function(op.call),
                             op.reads[0].view,
                             {},
                             op.writes[0].view);
    }
};

struct GeluBackward {
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::gelu_backward,
        .epilogue = ProductEpilogue::gelu_gradient,
        .call =
            [](const KernelCall& key) {
                return gelu_backward(key.dims[0], key.dims[1], key.dtype, key.variant == 1);
            },
        .operands =
            [](OperandForms& forms, const KernelCall& call) {
                return activation_operands(forms, call, 1, false);
            },
        .why_not =
            [](const KernelCall& call, const OperandSizes& sizes) {
                return activation_why_not(call, sizes, 1, false);
            }};

    static void run(const KernelArguments& op) {
        if (run_weighted(op, false, false)) {
            return;
        }
        cpu::gelu_backward(activation_shape(op.call),
                           ungated_function(op.call),
                           op.reads[0].view,
                           op.reads[1].view,
                           {},
                           op.writes[0].view);
    }
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        device::gelu_backward(queue,
                              activation_shape(op.call),
                              ungated_function(op.call),
                              op.reads[0].view,
                              op.reads[1].view,
                              {},
                              op.writes[0].view);
    }
};

struct SwigluForward {
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::swiglu_forward,
        .call =
            [](const KernelCall& key) {
                return swiglu_forward(key.dims[0], key.dims[1], key.dtype, key.variant == 1);
            },
        .operands =
            [](OperandForms& forms, const KernelCall& call) {
                return activation_operands(forms, call, 2, true);
            },
        .why_not =
            [](const KernelCall& call, const OperandSizes& sizes) {
                return activation_why_not(call, sizes, 2, true);
            }};

    static void run(const KernelArguments& op) {
        if (run_weighted(op, true, true)) {
            return;
        }
        cpu::swiglu_forward(activation_shape(op.call),
                            gated_function(op.call),
                            op.reads[0].view,
                            {},
                            op.writes[0].view,
                            !is_gate(op.reads[0]));
    }
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        device::swiglu_forward(queue,
                               activation_shape(op.call),
                               gated_function(op.call),
                               op.reads[0].view,
                               {},
                               op.writes[0].view,
                               !is_gate(op.reads[0]));
    }
};

struct SwigluBackward {
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::swiglu_backward,
        .call =
            [](const KernelCall& key) {
                return swiglu_backward(key.dims[0], key.dims[1], key.dtype, key.variant == 1);
            },
        .operands =
            [](OperandForms& forms, const KernelCall& call) {
                return activation_operands(forms, call, 2, false);
            },
        .why_not =
            [](const KernelCall& call, const OperandSizes& sizes) {
                return activation_why_not(call, sizes, 2, false);
            }};

    static void run(const KernelArguments& op) {
        if (run_weighted(op, true, false)) {
            return;
        }
        cpu::swiglu_backward(activation_shape(op.call),
                             gated_function(op.call),
                             op.reads[0].view,
                             op.reads[1].view,
                             {},
                             op.writes[0].view,
                             !is_gate(op.reads[1]));
    }
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        device::swiglu_backward(queue,
                                activation_shape(op.call),
                                gated_function(op.call),
                                op.reads[0].view,
                                op.reads[1].view,
                                {},
                                op.writes[0].view,
                                !is_gate(op.reads[1]));
    }
};

}  // namespace orrery::kernel
