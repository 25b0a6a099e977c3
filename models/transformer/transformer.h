// SPDX-License-Identifier: Apache-2.0
// The dimensions of a transformer. The fields have Megatron-LM's names.
#pragma once

#include <cstdint>
#include <string>

namespace orrery {

enum class Normalization : std::uint8_t { layernorm, rmsnorm };
enum class PositionEmbedding : std::uint8_t { learned, rope, none };
enum class Activation : std::uint8_t { gelu, squared_relu, swiglu, geglu };
enum class RouterScoreFunction : std::uint8_t { softmax, sigmoid };

struct Transformer {
    std::string name{};
    std::int64_t num_layers = 0;
    std::int64_t hidden_size = 0;
    std::int64_t ffn_hidden_size = 0;
    std::int64_t num_attention_heads = 0;
    // Key-value heads; num_attention_heads if queries are not grouped
    std::int64_t num_query_groups = 0;
    std::int64_t kv_channels = 0;  // width of a head
    std::int64_t seq_length = 0;
    std::int64_t vocab_size = 0;  // padded
    Normalization normalization = Normalization::layernorm;
    PositionEmbedding position_embedding = PositionEmbedding::learned;
    Activation activation = Activation::gelu;
    // > 0: gate and up are clamped to this limit before they are multiplied (gpt-oss). A fused
    // activation clamps in its own kernel.
    double activation_func_clamp_value = 0;
    bool add_bias_linear = true;
    bool add_qkv_bias = false;     // a bias of queries, keys and values alone (Qwen2)
    bool tied_embeddings = true;   // embedding and output layer share their weight
    bool embed_layernorm = false;  // a norm behind the embedding of tokens (BLOOM)
    // Norms of the outputs of attention and MLP, too, before they are added to the stream
    // (Sandwich-LN: Ding et al., CogView, arXiv 2105.13290, section 2.3; Gemma 2, GLM-4).
    bool sandwich_norm = false;
    // Attention and MLP read the same normed input and are added together
    bool parallel_block = false;
    double dropout = 0;
    // A token's causal attention covers at most this many tokens, itself included, in every
    // `sliding_window_every`-th layer but each `full_attention_every`-th (0: none). 0: no window.
    std::int64_t sliding_window = 0;
    std::int64_t sliding_window_every = 1;
    std::int64_t full_attention_every = 0;
    // Every n-th layer has causal linear attention without a softmax. One matrix a head sums up the
    // earlier tokens (Katharopoulos et al., ICML 2020; Qin et al., TransNormerLLM, arXiv
    // 2307.14995). 0: none.
    std::int64_t linear_attention_every = 0;

    // Mixture of experts (Shazeer et al., arXiv 1701.06538): a router sends each token to
    // `moe_router_topk` of `num_experts` MLPs. 0: every layer has one MLP.
    std::int64_t num_experts = 0;
    std::int64_t moe_router_topk = 2;
    std::int64_t moe_ffn_hidden_size = 0;  // of an expert; 0: ffn_hidden_size
    // The total width of the shared experts, an MLP that every token passes in addition; 0: none.
    std::int64_t moe_shared_expert_intermediate_size = 0;
    std::int64_t first_k_dense_replace = 0;  // the first layers, which have one MLP each
    // Of the other layers, the first and then every n-th has experts
    std::int64_t moe_layer_freq = 1;
    // The experts form this many groups. The experts of one token all belong to
    // moe_router_group_topk groups (DeepSeek-V3, arXiv 2412.19437, section 2.1.2: a group is a
    // node). 0: no groups.
    std::int64_t moe_router_num_groups = 0;
    std::int64_t moe_router_group_topk = 0;
    // The function from logits to scores. The scores of the chosen experts, scaled to the sum 1,
    // are the weights of their outputs.
    RouterScoreFunction moe_router_score_function = RouterScoreFunction::softmax;
    // The coefficient of the loss that balances experts (Fedus et al., arXiv 2101.03961, section
    // 2.2); 0: none.
    double moe_aux_loss_coeff = 0;
    // The amount that a step adds to or subtracts from an expert's selection bias (Wang et al.,
    // arXiv 2408.15664); 0: no bias.
    double moe_router_bias_update_rate = 0;
    // Multi-token prediction: the number of modules (DeepSeek-V3, section 2.2). Each has one layer,
    // and products before and after it.
    std::int64_t mtp_num_layers = 0;

    // Multi-head latent attention (DeepSeek-AI, DeepSeek-V2, arXiv 2405.04434, section 2.1). Keys
    // and values are made from a latent vector of kv_lora_rank dimensions, and so are queries, of
    // q_lora_rank dimensions if that is > 0. kv_channels and num_query_groups then have no effect.
    bool multi_latent_attention = false;
    std::int64_t q_lora_rank = 0;
    std::int64_t kv_lora_rank = 512;
    std::int64_t qk_head_dim = 128;  // of a head, the part without position
    // Of a head, the rotated part; all heads share this part of the key
    std::int64_t qk_pos_emb_head_dim = 64;
    std::int64_t v_head_dim = 128;
    bool qk_layernorm = false;  // a norm on each head of queries and keys

    bool gated_mlp() const {
        return activation == Activation::swiglu || activation == Activation::geglu;
    }
    // Latent attention has no products of this kind.
    bool qkv_has_bias() const { return add_bias_linear || add_qkv_bias; }
    // The width of a head of queries and keys, and of a head of values and of attention's output.
    std::int64_t query_head() const {
        return multi_latent_attention ? qk_head_dim + qk_pos_emb_head_dim : kv_channels;
    }
    std::int64_t value_head() const { return multi_latent_attention ? v_head_dim : kv_channels; }
    // The number of key-value heads in the input of the attention kernel.
    std::int64_t key_heads() const {
        return multi_latent_attention ? num_attention_heads : num_query_groups;
    }
    std::int64_t query_size() const { return num_attention_heads * query_head(); }
    std::int64_t kv_size() const { return key_heads() * query_head(); }  // width of all keys
    std::int64_t value_size() const { return key_heads() * value_head(); }
    std::int64_t context_size() const { return num_attention_heads * value_head(); }
    bool layer_has_experts(std::int64_t layer) const {
        return num_experts > 0 && layer >= first_k_dense_replace &&
               (layer - first_k_dense_replace) % moe_layer_freq == 0;
    }
    std::int64_t expert_ffn_size() const {
        return moe_ffn_hidden_size > 0 ? moe_ffn_hidden_size : ffn_hidden_size;
    }
    bool layer_is_linear(std::int64_t layer) const {
        return linear_attention_every > 0 && (layer + 1) % linear_attention_every == 0;
    }
    // Whether the window applies to the layer, however long sequences are.
    bool layer_takes_window(std::int64_t layer) const {
        const bool full = full_attention_every > 0 && (layer + 1) % full_attention_every == 0;
        return sliding_window > 0 && (layer + 1) % sliding_window_every == 0 && !full;
    }
    bool layer_has_window(std::int64_t layer) const {
        return sliding_window < seq_length && layer_takes_window(layer);
    }
    bool operator==(const Transformer&) const = default;
};

// Numbers of parameters, each counted once: of layer `layer` (from 0); of token and position
// embeddings; of the final norm and the output layer (without the output weight if it is tied).
std::int64_t layer_parameters(const Transformer& model, std::int64_t layer = 0);
std::int64_t embedding_parameters(const Transformer& model);
std::int64_t output_parameters(const Transformer& model);
std::int64_t num_parameters(const Transformer& model);
// The number of parameters that one token uses: only moe_router_topk of a layer's experts count.
std::int64_t active_parameters(const Transformer& model);

}  // namespace orrery
