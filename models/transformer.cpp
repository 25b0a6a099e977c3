// SPDX-License-Identifier: Apache-2.0
#include "models/transformer.h"

namespace orrery {
namespace {

// Layer norm has a weight and a bias, RMS norm a weight only.
std::int64_t norm_parameters(const Transformer& model) {
    return model.normalization == Normalization::layernorm ? 2 * model.hidden_size
                                                           : model.hidden_size;
}

// A weight of (outputs, inputs) and, where linear layers have one, a bias.
std::int64_t linear_parameters(const Transformer& model,
                               std::int64_t inputs,
                               std::int64_t outputs) {
    return inputs * outputs + (model.add_bias_linear ? outputs : 0);
}

}  // namespace

std::int64_t layer_parameters(const Transformer& model) {
    const std::int64_t hidden = model.hidden_size;
    const std::int64_t ffn = model.ffn_hidden_size;
    const std::int64_t norms = model.parallel_block ? 1 : 2;
    const std::int64_t qkv = model.query_size() + 2 * model.kv_size();
    const std::int64_t fc1 = model.gated_mlp() ? 2 * ffn : ffn;
    return norms * norm_parameters(model) + linear_parameters(model, hidden, qkv) +
           linear_parameters(model, model.query_size(), hidden) +
           linear_parameters(model, hidden, fc1) + linear_parameters(model, ffn, hidden);
}

std::int64_t embedding_parameters(const Transformer& model) {
    const bool learned = model.position_embedding == PositionEmbedding::learned;
    return (model.vocab_size + (learned ? model.seq_length : 0)) * model.hidden_size;
}

std::int64_t output_parameters(const Transformer& model) {
    return norm_parameters(model) +
           (model.tied_embeddings ? 0 : model.vocab_size * model.hidden_size);
}

std::int64_t num_parameters(const Transformer& model) {
    return embedding_parameters(model) + model.num_layers * layer_parameters(model) +
           output_parameters(model);
}

}  // namespace orrery
