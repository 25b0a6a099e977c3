// SPDX-License-Identifier: Apache-2.0
// Models whose published parameter and FLOP counts the tests compare with.
#pragma once

#include "models/transformer/transformer.h"

namespace orrery {

// Layers of h with 4h in the MLP, biases, layer norm, learned positions and a tied embedding.
inline Transformer gpt(std::int64_t layers,
                       std::int64_t hidden,
                       std::int64_t heads,
                       std::int64_t seq,
                       std::int64_t vocab) {
    return {.num_layers = layers,
            .hidden_size = hidden,
            .ffn_hidden_size = 4 * hidden,
            .num_attention_heads = heads,
            .num_query_groups = heads,
            .kv_channels = hidden / heads,
            .seq_length = seq,
            .vocab_size = vocab};
}

inline Transformer gpt2_124m() {
    return gpt(12, 768, 12, 1024, 50257);
}
inline Transformer gpt3_175b() {
    return gpt(96, 12288, 96, 2048, 50257);
}

// Gated MLP, RMS norm, rotary positions, no biases, an output layer of its own; heads of 128.
inline Transformer llama(std::int64_t layers,
                         std::int64_t hidden,
                         std::int64_t ffn,
                         std::int64_t groups,
                         std::int64_t vocab) {
    return {.num_layers = layers,
            .hidden_size = hidden,
            .ffn_hidden_size = ffn,
            .num_attention_heads = hidden / 128,
            .num_query_groups = groups,
            .kv_channels = 128,
            .seq_length = 8192,
            .vocab_size = vocab,
            .normalization = Normalization::rmsnorm,
            .position_embedding = PositionEmbedding::rope,
            .activation = Activation::swiglu,
            .add_bias_linear = false,
            .tied_embeddings = false};
}

inline Transformer llama3_8b() {
    return llama(32, 4096, 14336, 8, 128256);
}
inline Transformer llama3_70b() {
    return llama(80, 8192, 28672, 8, 128256);
}
inline Transformer llama3_405b() {
    return llama(126, 16384, 53248, 8, 128256);
}

}  // namespace orrery
