// SPDX-License-Identifier: Apache-2.0
// Rows of tokens in the list of kernels (kernels/kernel_list.h).
//   expert_counts  reads chosen [weights], writes counts [kept], accumulates [load]
//   permute        reads x [weights] chosen, writes rows [row weights]
//   unpermute      reads rows [row weights] chosen, writes y [weights]
//   expert_bias    reads load scalars, accumulates bias
#pragma once

#include "kernels/expert_rows/expert_rows.h"
#include "kernels/kernel_arguments.h"
#include "kernels/kernel_descriptor.h"

namespace orrery::kernel {

struct ExpertCounts {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const auto& [tokens, experts, k, capacity, x, y] = call.dims;
        forms.ids({tokens, 1, k}, experts);
        if (capacity > 0) {
            forms.add(Access::read, Dtype::fp32, {tokens, 1, k});
        }
        forms.add(Access::write, Dtype::int32, {experts});
        if (capacity > 0) {
            forms.add(Access::write, Dtype::int32, {tokens, 1, k});
        }
        return true;
    }
    // The accumulated load is optional: a recomputed pass must not count again.
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        OperandForms forms{call};
        operands(forms, call);
        ExpectedSizes expected = sizes_of(forms);
        if (!sizes.accumulates.empty()) {
            expected.accumulates = {2 * call.dims[1]};
        }
        return compare(sizes, expected);
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::expert_counts,
        .num_dims = 3,
        .num_optional_dims = 1,
        .call =
            [](const KernelCall& key) {
                return expert_counts(key.dims[0], key.dims[1], key.dims[2], key.dims[3]);
            },
        .operands = operands,
        .why_not = why_not};

    static void run(const KernelArguments& op);
};

inline bool rows_operands(OperandForms& forms, const KernelCall& call, bool to_rows) {
    const ExpertRows s = expert_rows(call);
    const std::vector<std::int64_t> tokens{s.tokens, 1, s.width};
    const std::vector<std::int64_t> rows{s.tokens * s.k, 1, s.width};
    const std::vector<std::int64_t> weights{s.tokens, 1, s.k};
    forms.read(to_rows ? tokens : rows);
    if (s.weights) {
        forms.add(Access::read, Dtype::fp32, weights);
    }
    forms.ids(weights, s.experts);
    forms.write(to_rows ? rows : tokens);
    if (s.weights) {
        forms.add(Access::write, Dtype::fp32, weights);
    }
    return true;
}

struct Permute {
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::permute,
        .num_dims = 4,
        .call = [](const KernelCall& key) { return permute(expert_rows(key), key.dtype); },
        .operands = [](OperandForms& forms,
                       const KernelCall& call) { return rows_operands(forms, call, true); }};

    static void run(const KernelArguments& op);
};

struct Unpermute {
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::unpermute,
        .num_dims = 4,
        .call = [](const KernelCall& key) { return unpermute(expert_rows(key), key.dtype); },
        .operands = [](OperandForms& forms,
                       const KernelCall& call) { return rows_operands(forms, call, false); }};

    static void run(const KernelArguments& op);
};

struct ExpertBias {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        forms.add(Access::read, Dtype::fp32, {2 * call.dims[0]});
        forms.scalars();
        forms.add(Access::accumulate, Dtype::fp32, {call.dims[0]});
        return true;
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::expert_bias,
        .call = [](const KernelCall& key) { return expert_bias(key.dims[0]); },
        .operands = operands};

    static void run(const KernelArguments& op);
};

}  // namespace orrery::kernel
