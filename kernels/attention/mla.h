// SPDX-License-Identifier: Apache-2.0
// The core of multi-head latent attention while training: queries and keys are d_qk + d_rope wide,
// values d_v (192 and 128 in DeepSeek-V3), and every head has its own. FLOP = 2 (d_k + d_v) a
// visible pair forward; backward the scores again, two products as wide as keys for dQ and dK, two
// as wide as values for dV and the scores' gradient: 2 (3 d_k + 2 d_v). As a kernel it is attention
// over heads of the mean width, which has exactly the forward pass's FLOP and bytes.
#pragma once

#include "kernels/attention/attention.h"

namespace orrery {

struct MlaCore {
    std::int64_t batch = 1;
    std::int64_t seq = 0;
    std::int64_t heads = 0;  // on this device
    std::int64_t key_dim = 192;
    std::int64_t value_dim = 128;
    bool causal = true;
    AttentionGeneration generation = AttentionGeneration::flash_3_or_cudnn;
};

inline AttentionShape mla_shape(const MlaCore& core) {
    return {.batch = core.batch,
            .seq_q = core.seq,
            .seq_kv = core.seq,
            .heads = core.heads,
            .kv_heads = core.heads,
            .head_dim = (core.key_dim + core.value_dim) / 2,
            .causal = core.causal,
            .generation = core.generation};
}

inline KernelCall mla_forward(const MlaCore& core, Dtype dtype) {
    return attention_forward(mla_shape(core), dtype);
}

inline KernelCall mla_backward(const MlaCore& core, Dtype dtype) {
    KernelCall call = attention_backward(mla_shape(core), dtype);
    const auto key = static_cast<double>(core.key_dim);
    const auto value = static_cast<double>(core.value_dim);
    call.flop *= (3 * key + 2 * value) / (2.5 * (key + value));
    return call;
}

}  // namespace orrery
