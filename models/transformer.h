// SPDX-License-Identifier: Apache-2.0
// A dense transformer by its dimensions. Names are Megatron-LM's.
#pragma once

#include <cstdint>
#include <string>

namespace orrery {

enum class Normalization : std::uint8_t { layernorm, rmsnorm };
enum class PositionEmbedding : std::uint8_t { learned, rope, none };
enum class Activation : std::uint8_t { gelu, squared_relu, swiglu, geglu };

struct Transformer {
    std::string name{};
    std::int64_t num_layers = 0;
    std::int64_t hidden_size = 0;
    std::int64_t ffn_hidden_size = 0;
    std::int64_t num_attention_heads = 0;
    std::int64_t num_query_groups = 0;  // key-value heads; = heads when not grouped
    std::int64_t kv_channels = 0;       // head size
    std::int64_t seq_length = 0;
    std::int64_t vocab_size = 0;        // padded
    Normalization normalization = Normalization::layernorm;
    PositionEmbedding position_embedding = PositionEmbedding::learned;
    Activation activation = Activation::gelu;
    bool add_bias_linear = true;
    bool tied_embeddings = true;        // embedding and output layer share their weight
    bool parallel_block = false;        // attention and MLP read the same normed input
    double dropout = 0;
    // Causal attention sees at most this many tokens back (itself included); 0: no window. It
    // applies to every `sliding_window_every`-th layer.
    std::int64_t sliding_window = 0;
    std::int64_t sliding_window_every = 1;

    bool gated_mlp() const {
        return activation == Activation::swiglu || activation == Activation::geglu;
    }
    std::int64_t query_size() const { return num_attention_heads * kv_channels; }
    std::int64_t kv_size() const { return num_query_groups * kv_channels; }
    bool layer_has_window(std::int64_t layer) const {
        return sliding_window > 0 && sliding_window < seq_length &&
               (layer + 1) % sliding_window_every == 0;
    }
    bool operator==(const Transformer&) const = default;
};

// Parameters, each once: of one layer, of embedding + positions, of final norm + output layer (no
// output weight if tied).
std::int64_t layer_parameters(const Transformer& model);
std::int64_t embedding_parameters(const Transformer& model);
std::int64_t output_parameters(const Transformer& model);
std::int64_t num_parameters(const Transformer& model);

}  // namespace orrery
