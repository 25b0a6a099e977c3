// SPDX-License-Identifier: Apache-2.0
// Released models with experts, at a sequence of 4096, and small ones of every kind.
#pragma once

#include "tests/models/known_models.h"

namespace orrery {

// Experts in every layer.
inline Transformer with_experts(Transformer model,
                                std::int64_t experts,
                                std::int64_t topk,
                                std::int64_t ffn) {
    model.seq_length = 4096;
    model.num_experts = experts;
    model.moe_router_topk = topk;
    model.moe_ffn_hidden_size = ffn;
    return model;
}

inline Transformer mixtral_8x7b() {
    return with_experts(llama(32, 4096, 14336, 8, 32000), 8, 2, 14336);
}
inline Transformer mixtral_8x22b() {
    return with_experts(llama(56, 6144, 16384, 8, 32768), 8, 2, 16384);
}
inline Transformer qwen3_30b_a3b() {
    Transformer model = with_experts(llama(48, 2048, 6144, 4, 151936), 128, 8, 768);
    model.num_attention_heads = 32;
    model.qk_layernorm = true;
    return model;
}

// Latent attention, a shared expert, leading layers without experts.
inline Transformer deepseek(Transformer model, std::int64_t heads, std::int64_t dense) {
    model.num_attention_heads = model.num_query_groups = heads;
    model.multi_latent_attention = true;
    model.first_k_dense_replace = dense;
    return model;
}
inline Transformer deepseek_v3() {
    Transformer model =
        deepseek(with_experts(llama(61, 7168, 18432, 8, 129280), 256, 8, 2048), 128, 3);
    model.moe_shared_expert_intermediate_size = 2048;
    model.q_lora_rank = 1536;
    return model;
}
inline Transformer kimi_k2() {
    Transformer model = deepseek_v3();
    model.num_attention_heads = model.num_query_groups = 64;
    model.num_experts = 384;
    model.first_k_dense_replace = 1;
    model.vocab_size = 163840;
    return model;
}
inline Transformer moonlight_16b() {
    Transformer model =
        deepseek(with_experts(llama(27, 2048, 11264, 8, 163840), 64, 6, 1408), 16, 1);
    model.moe_shared_expert_intermediate_size = 2816;
    return model;
}

// Heads of 32, layers of 128; 64 tokens.
inline Transformer small_experts() {
    Transformer model = with_experts(llama(2, 128, 256, 2, 512), 8, 2, 64);
    model.num_attention_heads = 4;
    model.kv_channels = 32;
    model.seq_length = 64;
    return model;
}

}  // namespace orrery
