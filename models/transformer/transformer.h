// SPDX-License-Identifier: Apache-2.0
// A transformer by its dimensions. Names are Megatron-LM's.
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
    std::int64_t num_query_groups = 0;  // key-value heads; = heads when not grouped
    std::int64_t kv_channels = 0;       // head size
    std::int64_t seq_length = 0;
    std::int64_t vocab_size = 0;        // padded
    Normalization normalization = Normalization::layernorm;
    PositionEmbedding position_embedding = PositionEmbedding::learned;
    Activation activation = Activation::gelu;
    // > 0: the halves of a gated activation are clamped to it before they meet (gpt-oss). Fused
    // activations clamp on their way.
    double activation_func_clamp_value = 0;
    bool add_bias_linear = true;
    bool tied_embeddings = true;        // embedding and output layer share their weight
    bool parallel_block = false;        // attention and MLP read the same normed input
    double dropout = 0;
    // Causal attention sees at most this many tokens back (itself included); 0: no window. It
    // applies to every `sliding_window_every`-th layer.
    std::int64_t sliding_window = 0;
    std::int64_t sliding_window_every = 1;
    // Every n-th layer has linear attention, causal and without a softmax: what tokens have seen is
    // one matrix a head (Katharopoulos et al., ICML 2020; Qin et al., TransNormerLLM, arXiv
    // 2307.14995). 0: none.
    std::int64_t linear_attention_every = 0;

    // Mixture of experts (Shazeer et al., arXiv 1701.06538): a router sends each token to
    // `moe_router_topk` of `num_experts` MLPs. 0: every layer has one MLP.
    std::int64_t num_experts = 0;
    std::int64_t moe_router_topk = 2;
    std::int64_t moe_ffn_hidden_size = 0;  // of an expert; 0: ffn_hidden_size
    // The width of an MLP that all tokens pass besides, all shared experts together; 0: none.
    std::int64_t moe_shared_expert_intermediate_size = 0;
    std::int64_t first_k_dense_replace = 0;  // leading layers with one MLP
    std::int64_t moe_layer_freq = 1;         // behind these every n-th layer has experts
    // Experts lie in this many groups, of which a token's are in moe_router_group_topk
    // (DeepSeek-V3, arXiv 2412.19437, section 2.1.2: a group is a node); 0: in any.
    std::int64_t moe_router_num_groups = 0;
    std::int64_t moe_router_group_topk = 0;
    // Scores of experts, from which the weights of the chosen ones are made so that they add up to
    // 1.
    RouterScoreFunction moe_router_score_function = RouterScoreFunction::softmax;
    // The coefficient of the loss that balances experts (Fedus et al., arXiv 2101.03961, section
    // 2.2); 0: none.
    double moe_aux_loss_coeff = 0;
    // What a step adds to, or takes from, the bias by which an expert is chosen (Wang et al.,
    // arXiv 2408.15664); 0: none.
    double moe_router_bias_update_rate = 0;
    // Modules that predict further tokens: each a layer more, with the products before and behind
    // it (section 2.2).
    std::int64_t mtp_num_layers = 0;

    // Multi-head latent attention (DeepSeek-AI, DeepSeek-V2, arXiv 2405.04434, section 2.1): keys
    // and values, and queries where q_lora_rank > 0, come from a vector of few dimensions.
    // kv_channels and num_query_groups have no effect then.
    bool multi_latent_attention = false;
    std::int64_t q_lora_rank = 0;
    std::int64_t kv_lora_rank = 512;
    std::int64_t qk_head_dim = 128;         // of a head, without position
    std::int64_t qk_pos_emb_head_dim = 64;  // of a head, rotated; all heads share one such key
    std::int64_t v_head_dim = 128;
    bool qk_layernorm = false;  // a norm on each head of queries and keys

    bool gated_mlp() const {
        return activation == Activation::swiglu || activation == Activation::geglu;
    }
    // A head of queries and keys, and one of values and of attention's output.
    std::int64_t query_head() const {
        return multi_latent_attention ? qk_head_dim + qk_pos_emb_head_dim : kv_channels;
    }
    std::int64_t value_head() const { return multi_latent_attention ? v_head_dim : kv_channels; }
    // Heads of keys and values as attention reads them.
    std::int64_t key_heads() const {
        return multi_latent_attention ? num_attention_heads : num_query_groups;
    }
    std::int64_t query_size() const { return num_attention_heads * query_head(); }
    std::int64_t kv_size() const { return key_heads() * query_head(); }  // of the keys
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
    bool layer_has_window(std::int64_t layer) const {
        return sliding_window > 0 && sliding_window < seq_length &&
               (layer + 1) % sliding_window_every == 0;
    }
    bool operator==(const Transformer&) const = default;
};

// Parameters, each once: of layer `layer`, of embedding + positions, of final norm + output layer
// (no output weight if tied).
std::int64_t layer_parameters(const Transformer& model, std::int64_t layer = 0);
std::int64_t embedding_parameters(const Transformer& model);
std::int64_t output_parameters(const Transformer& model);
std::int64_t num_parameters(const Transformer& model);
// The parameters that one token meets: moe_router_topk of the experts.
std::int64_t active_parameters(const Transformer& model);

}  // namespace orrery
