// SPDX-License-Identifier: Apache-2.0
// Fused attention in the list of kernels (kernels/kernel_list.h). qkv is packed: query heads, key
// heads, value heads. A block has key heads, then value heads.
//   attention_forward   reads qkv [scalars], writes context lse
//     step of a ring    reads qkv block [scalars], accumulates context lse
//   attention_backward  reads qkv context lse dcontext [scalars], writes dqkv
//     step of a ring    reads qkv block context lse dcontext [scalars], writes dblock (first:
//                       dqkv), accumulates dqkv (queries)
#pragma once

#include <utility>

#include "engine/program/device_scalars.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_cuda.h"
#include "kernels/kernel_descriptor.h"

namespace orrery::kernel {

inline std::string why_no_attention_on_cuda(const KernelCall& call) {
    return device::why_no_attention(attention_shape(call), call.dtype);
}

inline bool attention_takes(const KernelCall& key) {
    return key.variant % 8 <= static_cast<int>(AttentionGeneration::flash_3_or_cudnn) &&
           attention_shape(key).head_dim != 0;
}

struct AttentionSizes {
    explicit AttentionSizes(const AttentionShape& s)
        : context(s.batch * s.seq_q * s.heads * s.head_dim),
          block(2 * s.batch * s.seq_q * s.kv_heads * s.head_dim),
          statistics(s.batch * s.seq_q * s.heads) {}
    std::int64_t context;
    std::int64_t block;
    std::int64_t statistics;
};

struct AttentionForward {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const AttentionShape s = attention_shape(call);
        forms.read({s.seq_q, s.batch, (s.heads + 2 * s.kv_heads) * s.head_dim});
        forms.write({s.seq_q, s.batch, s.heads * s.head_dim});
        forms.add(Access::write, Dtype::fp32, {s.seq_q, s.batch, s.heads});
        return true;
    }
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        const AttentionSizes s{attention_shape(call)};
        ExpectedSizes e{.reads = {s.context + s.block},
                        .writes = {s.context, s.statistics},
                        .accumulates = {},
                        .optional_reads = {kNumDeviceScalars}};
        if (sizes.writes.empty()) {  // a step of a ring
            e.reads.push_back(s.block);
            std::swap(e.writes, e.accumulates);
        }
        return compare(sizes, e);
    }
    static constexpr KernelDescriptor kDescriptor{.kind = KernelKind::attention_forward,
                                                  .efficiency = EfficiencyClass::attention,
                                                  .num_dims = 6,
                                                  .takes = attention_takes,
                                                  .call =
                                                      [](const KernelCall& key) {
                                                          return attention_forward(
                                                              attention_shape(key), key.dtype);
                                                      },
                                                  .operands = operands,
                                                  .why_not = why_not};

    static std::string why_not_on_cuda(const KernelCall& call) {
        return why_no_attention_on_cuda(call);
    }
};

struct AttentionBackward {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const AttentionShape s = attention_shape(call);
        const std::vector<std::int64_t> qkv{
            s.seq_q, s.batch, (s.heads + 2 * s.kv_heads) * s.head_dim};
        const std::vector<std::int64_t> context{s.seq_q, s.batch, s.heads * s.head_dim};
        forms.read(qkv);
        forms.read(context);
        // The log-sum-exp of a few hundred keys with scores near zero, so that probabilities are
        // below one.
        forms.add({.dtype = Dtype::fp32,
                   .shape = {s.seq_q, s.batch, s.heads},
                   .values = OperandValues::positive});
        forms.read(context);
        forms.write(qkv);
        return true;
    }
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        const AttentionSizes s{attention_shape(call)};
        const std::int64_t qkv = s.context + s.block;
        ExpectedSizes e{.reads = {qkv},
                        .writes = {qkv},
                        .accumulates = {},
                        .optional_reads = {kNumDeviceScalars}};
        if (sizes.writes.size() + sizes.accumulates.size() > 1) {
            e.reads.push_back(s.block);
            e.writes = {s.block};
            (sizes.accumulates.empty() ? e.writes : e.accumulates).push_back(qkv);
        }
        e.reads.insert(e.reads.end(), {s.context, s.statistics, s.context});
        return compare(sizes, e);
    }
    static constexpr KernelDescriptor kDescriptor{.kind = KernelKind::attention_backward,
                                                  .efficiency = EfficiencyClass::attention,
                                                  .num_dims = 6,
                                                  .takes = attention_takes,
                                                  .call =
                                                      [](const KernelCall& key) {
                                                          return attention_backward(
                                                              attention_shape(key), key.dtype);
                                                      },
                                                  .operands = operands,
                                                  .why_not = why_not};

    static std::string why_not_on_cuda(const KernelCall& call) {
        return why_no_attention_on_cuda(call);
    }
};

}  // namespace orrery::kernel
