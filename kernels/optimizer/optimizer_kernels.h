// SPDX-License-Identifier: Apache-2.0
// The optimizer's kernels in the list of kernels (kernels/kernel_list.h). They work on several
// tensors with `n` elements in all (of shards, if the optimizer is sharded). The state is m of all
// tensors, v of all tensors and, for parameters that are not fp32, their fp32 masters.
//   gradient_accumulate  reads gradient, accumulates sum
//   gradient_norm        reads gradient …, writes squared norm
//   gradient_scale       reads squared norm, scalars, accumulates gradient …
//   adamw                reads gradient … scalars, writes weight …, accumulates state
//   lamb_update          reads weight … scalars, writes norms, accumulates gradient …, state
//   lamb                 reads update … scalars norms, writes weight …, accumulates state
#pragma once

#include "kernels/kernel_arguments.h"
#include "kernels/kernel_descriptor.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/optimizer/optimizer_cpu.h"
#include "kernels/optimizer/optimizer_cuda.h"

namespace orrery::kernel {

// The sum of all but the last `without` sizes.
inline std::int64_t sum_of(const std::vector<std::int64_t>& sizes, std::size_t without = 0) {
    std::int64_t total = 0;
    for (std::size_t i = 0; i + without < sizes.size(); ++i) {
        total += sizes[i];
    }
    return total;
}

inline std::string why_less(const KernelCall& call, std::string what, std::int64_t elements) {
    return elements >= call.dims[0] ? std::string{}
                                    : what + " have " + std::to_string(elements) +
                                          " elements, less than " + std::to_string(call.dims[0]);
}

// `others` are the operands read after the gradients.
inline std::string why_no_update(const KernelCall& call,
                                 const OperandSizes& sizes,
                                 std::size_t others) {
    if (sizes.reads.size() != sizes.writes.size() + others) {
        return "as many gradients as weights and the scalars are due";
    }
    if (sizes.accumulates != std::vector<std::int64_t>{optimizer_states(call) * call.dims[0]}) {
        return "the optimizer's state has another size";
    }
    const std::string gradients = why_less(call, "gradients", sum_of(sizes.reads, others));
    return gradients.empty() ? why_less(call, "weights", sum_of(sizes.writes)) : gradients;
}

inline bool optimizer_takes(const KernelCall& key) {
    return key.variant % kWithoutMaster < kNumDtypes && key.variant < 2 * kByOperator;
}
inline MasterCopy master_of(const KernelCall& key) {
    return has_master(key) ? MasterCopy::fp32 : MasterCopy::none;
}

struct GradientAccumulate {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        forms.read({call.dims[0]});
        forms.add(Access::accumulate, static_cast<Dtype>(call.variant), {call.dims[0]});
        return true;
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::gradient_accumulate,
        .num_dims = 1,
        .takes = [](const KernelCall& key) { return key.variant < kNumDtypes; },
        .call =
            [](const KernelCall& key) {
                return gradient_accumulate(key.dims[0], key.dtype, static_cast<Dtype>(key.variant));
            },
        .operands = operands};

    static void run(const KernelArguments& op) {
        cpu::gradient_accumulate(op.reads[0].view, op.accumulates[0].view);
    }
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        device::gradient_accumulate(queue, op.reads[0].view, op.accumulates[0].view);
    }
};

struct GradientNorm {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        forms.read({call.dims[0]});
        forms.add(Access::write, Dtype::fp32, {1});
        return true;
    }
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        return sizes.writes != std::vector<std::int64_t>{1}
                   ? "writes no norm"
                   : why_less(call, "gradients", sum_of(sizes.reads));
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::gradient_norm,
        .num_dims = 1,
        .call = [](const KernelCall& key) { return gradient_norm(key.dims[0], key.dtype); },
        .operands = operands,
        .why_not = why_not};
};

struct GradientScale {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        forms.add({.dtype = Dtype::fp32, .shape = {1}, .values = OperandValues::positive});
        forms.scalars();
        forms.add(Access::accumulate, call.dtype, {call.dims[0]});
        return true;
    }
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        return sizes.reads.size() != 2 || sizes.reads[0] != 1
                   ? "does not read norm and scalars"
                   : why_less(call, "gradients", sum_of(sizes.accumulates));
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::gradient_scale,
        .num_dims = 1,
        .call = [](const KernelCall& key) { return gradient_scale(key.dims[0], key.dtype); },
        .operands = operands,
        .why_not = why_not};
};

struct Adamw {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const std::int64_t n = call.dims[0];
        forms.add(Access::read, gradient_of_optimizer(call), {n});
        forms.scalars();
        forms.write({1, n});
        forms.add({.access = Access::accumulate,
                   .dtype = Dtype::fp32,
                   .shape = {optimizer_states(call) * n},
                   .values = OperandValues::positive});
        return true;
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::adamw,
        .num_dims = 1,
        .takes = optimizer_takes,
        .call =
            [](const KernelCall& key) {
                return adamw(key.dims[0],
                             key.dtype,
                             gradient_of_optimizer(key),
                             master_of(key),
                             moments_of_optimizer(key),
                             form_of_optimizer(key));
            },
        .operands = operands,
        .why_not = [](const KernelCall& call,
                      const OperandSizes& sizes) { return why_no_update(call, sizes, 1); }};
};

struct LambUpdate {
    static std::string why_not(const KernelCall&, const OperandSizes& sizes) {
        const bool fits =
            sizes.reads.size() == sizes.accumulates.size() &&
            sizes.writes ==
                std::vector<std::int64_t>{2 * static_cast<std::int64_t>(sizes.reads.size() - 1)};
        return fits ? "" : "two norms for each weight and its gradient are due";
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::lamb_update,
        .num_dims = 1,
        .takes = optimizer_takes,
        .call =
            [](const KernelCall& key) {
                return lamb_update(
                    key.dims[0], key.dtype, gradient_of_optimizer(key), master_of(key));
            },
        .why_not = why_not};
};

struct Lamb {
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::lamb,
        .num_dims = 1,
        .takes = optimizer_takes,
        .call =
            [](const KernelCall& key) {
                return lamb(key.dims[0], key.dtype, gradient_of_optimizer(key), master_of(key));
            },
        .why_not = [](const KernelCall& call,
                      const OperandSizes& sizes) { return why_no_update(call, sizes, 2); }};
};

}  // namespace orrery::kernel
