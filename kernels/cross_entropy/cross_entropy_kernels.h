// SPDX-License-Identifier: Apache-2.0
// Cross-entropy in the list of kernels (kernels/kernel_list.h). p: the logits in fp32, which the
// backward pass turns into probabilities. max, sum, target: fp32, one per token.
//   cross_entropy_forward   reads logits labels, writes max sum target [p]
//     mean (vocab 1)        reads labels max sum target scalars, accumulates loss
//     rescale (vocab 1)     reads own max, max of all, accumulates sum
//   cross_entropy_backward  reads labels max sum target [p] scalars, accumulates logits
#pragma once

#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/kernel_descriptor.h"

namespace orrery::kernel {

struct CrossEntropyForward {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const std::int64_t tokens = call.dims[0];
        const std::vector<std::int64_t> logits{tokens, 1, call.dims[1]};
        forms.read(logits);
        forms.ids({tokens, 1, 1}, call.dims[1]);
        forms.statistics(Access::write, tokens, 3);
        if (call.variant == 0) {
            forms.write(logits);
        }
        return true;
    }
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        const std::int64_t tokens = call.dims[0];
        const std::int64_t logits = tokens * call.dims[1];
        const std::int64_t scalars = sizes.reads.empty() ? 0 : sizes.reads.back();
        if (!sizes.writes.empty()) {
            return compare(sizes,
                           {.reads = {logits, tokens},
                            .writes = {tokens, tokens, tokens},
                            .accumulates = {},
                            .optional_reads = {},
                            .optional_writes = {logits}});
        }
        if (sizes.reads.size() == 2) {
            return compare(sizes,
                           {.reads = {tokens, tokens}, .writes = {}, .accumulates = {tokens}});
        }
        return compare(
            sizes,
            {.reads = {tokens, tokens, tokens, tokens, scalars}, .writes = {}, .accumulates = {1}});
    }
    static KernelCall call(const KernelCall& key) {
        return key.variant == 2
                   ? loss_metric(key.dims[0], key.dims[1], key.dtype)
                   : cross_entropy_forward(key.dims[0], key.dims[1], key.dtype, key.variant == 1);
    }
    static constexpr KernelDescriptor kDescriptor{.kind = KernelKind::cross_entropy_forward,
                                                  .call = call,
                                                  .operands = operands,
                                                  .why_not = why_not};
};

struct CrossEntropyBackward {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const std::int64_t tokens = call.dims[0];
        const std::vector<std::int64_t> logits{tokens, 1, call.dims[1]};
        forms.ids({tokens, 1, 1}, call.dims[1]);
        forms.statistics(Access::read, tokens, 3);
        if (call.variant == 0) {
            forms.read(logits);
        }
        forms.scalars();
        forms.add(Access::accumulate, call.dtype, logits);
        return true;
    }
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        const std::int64_t tokens = call.dims[0];
        const std::int64_t logits = tokens * call.dims[1];
        ExpectedSizes e{
            .reads = {tokens, tokens, tokens, tokens}, .writes = {}, .accumulates = {logits}};
        if (call.variant == 0) {
            e.reads.push_back(logits);
        }
        e.reads.push_back(sizes.reads.empty() ? 0 : sizes.reads.back());  // the device scalars
        return compare(sizes, e);
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::cross_entropy_backward,
        .call =
            [](const KernelCall& key) {
                return cross_entropy_backward(
                    key.dims[0], key.dims[1], key.dtype, key.variant == 1);
            },
        .operands = operands,
        .why_not = why_not};
};

}  // namespace orrery::kernel
