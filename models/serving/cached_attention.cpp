// SPDX-License-Identifier: Apache-2.0
#include "models/serving/cached_attention.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {

KernelCall cached_attention(const Transformer& model,
                            const ServingPlan& plan,
                            const AttentionShape& shape) {
    constexpr Dtype kStream = Dtype::bf16;  // of queries and outputs
    KernelCall call = attention_forward(shape, kStream);
    const std::int64_t seen =
        shape.window > 0 ? std::min(shape.window + shape.seq_q - 1, shape.seq_kv) : shape.seq_kv;
    const std::int64_t counted =
        shape.batch * shape.kv_heads * (shape.head_dim + shape.value_head_dim());
    // Latent attention reads one vector as keys and values.
    const bool one_vector = model.multi_latent_attention &&
                            shape.head_dim == model.kv_lora_rank + model.qk_pos_emb_head_dim;
    const std::int64_t cached =
        one_vector ? shape.batch * shape.kv_heads * shape.head_dim : counted;
    // Prompts of latent attention read keys and values that were computed just before.
    const Dtype stored =
        model.multi_latent_attention && !one_vector ? kStream : plan.key_value_precision;
    call.bytes += cached * seen * size_bytes(stored) - counted * shape.seq_kv * size_bytes(kStream);
    return call;
}

KernelCall prompt_attention(const Transformer& model,
                            const ServingPlan& plan,
                            AttentionShape shape,
                            std::span<const PromptChunk> chunks) {
    ORRERY_CHECK(!chunks.empty());
    double flop = 0;
    std::int64_t bytes = 0;
    std::int64_t rows = 0;
    std::int64_t seen = 0;
    shape.batch = 1;
    for (const PromptChunk& chunk : chunks) {
        shape.seq_q = chunk.new_tokens;
        shape.seq_kv = chunk.context + chunk.new_tokens;
        const KernelCall call = cached_attention(model, plan, shape);
        flop += call.flop;
        bytes += call.bytes;
        rows += shape.seq_q;
        seen += shape.seq_kv;
    }
    shape.batch = static_cast<std::int64_t>(chunks.size());
    shape.seq_q = (rows + shape.batch - 1) / shape.batch;
    shape.seq_kv = (seen + shape.batch - 1) / shape.batch;
    KernelCall call = cached_attention(model, plan, shape);
    call.flop = flop;
    call.bytes = bytes;
    return call;
}

KernelCall joint_attention(const KernelCall& prompts, const KernelCall& generation) {
    constexpr std::int64_t kTileRows = 64;
    const std::int64_t rows = attention_shape(generation).seq_q;
    KernelCall joint = prompts;
    joint.flop += generation.flop * static_cast<double>(std::max(kTileRows, rows)) /
                  static_cast<double>(rows);
    joint.bytes += generation.bytes;
    return joint;
}

}  // namespace orrery
