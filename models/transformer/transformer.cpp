// SPDX-License-Identifier: Apache-2.0
#include "models/transformer/transformer.h"

#include <algorithm>

#include "models/transformer/attention_parameters.h"

namespace orrery {
namespace {

// Layer norm has a weight and a bias, RMS norm a weight only.
std::int64_t norm_parameters(const Transformer& model) {
    return model.normalization == Normalization::layernorm ? 2 * model.hidden_size
                                                           : model.hidden_size;
}

// A weight of (outputs, inputs) and a bias if linear layers have one.
std::int64_t linear_parameters(const Transformer& model,
                               std::int64_t inputs,
                               std::int64_t outputs) {
    return inputs * outputs + (model.add_bias_linear ? outputs : 0);
}

// `copies` MLPs of equal size.
std::int64_t mlp_parameters(const Transformer& model, std::int64_t ffn, std::int64_t copies = 1) {
    const std::int64_t hidden = model.hidden_size;
    const std::int64_t fc1 = model.gated_mlp() ? 2 * ffn : ffn;
    return copies * (linear_parameters(model, hidden, fc1) + linear_parameters(model, ffn, hidden));
}

// Norms of latent vectors and heads have no bias.
std::int64_t latent_attention_parameters(const Transformer& m) {
    const std::int64_t latent = m.kv_lora_rank;
    const std::int64_t up = m.num_attention_heads * (m.qk_head_dim + m.v_head_dim);
    const std::int64_t queries = m.q_lora_rank > 0 ? m.hidden_size * m.q_lora_rank + m.q_lora_rank +
                                                         m.q_lora_rank * m.query_size()
                                                   : m.hidden_size * m.query_size();
    return queries + m.hidden_size * (latent + m.qk_pos_emb_head_dim) + latent + latent * up +
           m.context_size() * m.hidden_size;
}

}  // namespace

std::int64_t attention_parameters(const Transformer& model) {
    if (model.multi_latent_attention) {
        return latent_attention_parameters(model);
    }
    const std::int64_t hidden = model.hidden_size;
    const std::int64_t qkv = model.query_size() + 2 * model.kv_size();
    return hidden * qkv + (model.qkv_has_bias() ? qkv : 0) +
           linear_parameters(model, model.query_size(), hidden) +
           (model.qk_layernorm ? 2 * model.kv_channels : 0);
}

namespace {

// Counts `experts` of the layer's experts.
std::int64_t layer_parameters_with(const Transformer& model,
                                   std::int64_t layer,
                                   std::int64_t experts) {
    const std::int64_t norms = model.parallel_block ? 1 : (model.sandwich_norm ? 4 : 2);
    const std::int64_t outside = norms * norm_parameters(model) + attention_parameters(model);
    if (!model.layer_has_experts(layer)) {
        return outside + mlp_parameters(model, model.ffn_hidden_size);
    }
    const std::int64_t shared = model.moe_shared_expert_intermediate_size;
    return outside + linear_parameters(model, model.hidden_size, model.num_experts) +
           mlp_parameters(model, model.expert_ffn_size(), experts) +
           (shared > 0 ? mlp_parameters(model, shared) : 0);
}

std::int64_t parameters_with(const Transformer& model, std::int64_t experts) {
    std::int64_t sum = embedding_parameters(model) + output_parameters(model);
    for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
        sum += layer_parameters_with(model, layer, experts);
    }
    // A multi-token prediction module: a layer, three norms, and a product of two streams.
    return sum + model.mtp_num_layers *
                     (layer_parameters_with(model, model.num_layers, experts) +
                      3 * norm_parameters(model) + 2 * model.hidden_size * model.hidden_size);
}

}  // namespace

std::int64_t embedding_parameters(const Transformer& model) {
    const bool learned = model.position_embedding == PositionEmbedding::learned;
    return (model.vocab_size + (learned ? model.seq_length : 0)) * model.hidden_size +
           (model.embed_layernorm ? norm_parameters(model) : 0);
}

std::int64_t output_parameters(const Transformer& model) {
    return norm_parameters(model) +
           (model.tied_embeddings ? 0 : model.vocab_size * model.hidden_size);
}

std::int64_t layer_parameters(const Transformer& model, std::int64_t layer) {
    return layer_parameters_with(model, layer, model.num_experts);
}

std::int64_t num_parameters(const Transformer& model) {
    return parameters_with(model, model.num_experts);
}

std::int64_t active_parameters(const Transformer& model) {
    return parameters_with(model, std::min(model.moe_router_topk, model.num_experts));
}

}  // namespace orrery
