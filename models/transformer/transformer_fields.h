// SPDX-License-Identifier: Apache-2.0
// The table of Transformer's fields. From it follow the keys of the section `model` with their
// reader, `orrery keys model`, Megatron-LM's flags, and the description of a model in a checkpoint.
//
// A new key needs a member of Transformer with its default (models/transformer/transformer.h), a
// row here, and its effect. A member without a row does not compile.
#pragma once

#include <cstddef>
#include <string_view>

#include "engine/base/field.h"
#include "engine/base/has_fields.h"
#include "models/transformer/transformer.h"

namespace orrery {

inline constexpr Choice<Normalization> kNormalizations[] = {
    {"layernorm", Normalization::layernorm},
    {"rmsnorm", Normalization::rmsnorm},
    {"LayerNorm", Normalization::layernorm},  // Megatron-LM's spelling
    {"RMSNorm", Normalization::rmsnorm},
};
inline constexpr Choice<PositionEmbedding> kPositionEmbeddings[] = {
    {"learned", PositionEmbedding::learned},
    {"rope", PositionEmbedding::rope},
    {"none", PositionEmbedding::none},
    {"learned_absolute", PositionEmbedding::learned},  // Megatron-LM's spelling
};
inline constexpr Choice<Activation> kActivations[] = {
    {"gelu", Activation::gelu},
    {"squared_relu", Activation::squared_relu},
    {"swiglu", Activation::swiglu},
    {"geglu", Activation::geglu},
};

inline constexpr Choice<RouterScoreFunction> kRouterScoreFunctions[] = {
    {"softmax", RouterScoreFunction::softmax},
    {"sigmoid", RouterScoreFunction::sigmoid},
};

template <class T>
struct ModelField {
    std::string_view field;  // the member's name, which checkpoints use
    std::string_view name;   // of the key
    T Transformer::*member;
    FieldUse use = FieldUse::optional;
    std::string_view meaning;  // one sentence
    typename FieldValues<T>::Type values{};
    std::string_view unit{};          // of numbers
    std::string_view default_from{};  // the fields from which the default follows
    bool inverted = false;            // the key is true where the field is false
    std::string_view short_name{};    // the literature's abbreviation, for tables
    FlagNames flags{};                // like PlanField's (models/plan/plan_fields.h)
    FlagNames translated_flags{};
};

#define ORRERY_MODEL_KEY(of, key, ...)                                     \
    ModelField<decltype(Transformer::of)> {                                \
        .field = #of, .name = key, .member = &Transformer::of, __VA_ARGS__ \
    }
#define ORRERY_MODEL_FIELD(of, ...) ORRERY_MODEL_KEY(of, #of, __VA_ARGS__)

// clang-format off
inline constexpr FieldTable kModelFields{
    ORRERY_MODEL_FIELD(name,
        .meaning = "What reports call the model.", .default_from = "none"),
    ORRERY_MODEL_FIELD(num_layers,
        .use = FieldUse::required,
        .meaning = "Transformer layers.",
        .values = {1, 100'000}, .unit = "layers", .flags = {"--num-layers"}),
    ORRERY_MODEL_FIELD(hidden_size,
        .use = FieldUse::required,
        .meaning = "Width of the residual stream.",
        .values = {1, 10'000'000}, .unit = "elements", .flags = {"--hidden-size"}),
    ORRERY_MODEL_FIELD(ffn_hidden_size,
        .meaning = "Width inside the MLP.",
        .values = {1, 100'000'000}, .unit = "elements", .default_from = "4 * hidden_size",
        .flags = {"--ffn-hidden-size"}),
    ORRERY_MODEL_FIELD(num_attention_heads,
        .use = FieldUse::required,
        .meaning = "Attention heads, those of the queries.",
        .values = {1, 1'000'000}, .unit = "heads", .flags = {"--num-attention-heads"}),
    ORRERY_MODEL_FIELD(num_query_groups,
        .meaning = "Key-value heads, each shared by a group of queries (grouped-query attention).",
        .values = {1, 1'000'000}, .unit = "heads", .default_from = "num_attention_heads",
        .flags = {"--num-query-groups"}),
    ORRERY_MODEL_FIELD(kv_channels,
        .meaning = "Size of a head.",
        .values = {1, 1'000'000}, .unit = "elements",
        .default_from = "hidden_size / num_attention_heads", .flags = {"--kv-channels"}),
    ORRERY_MODEL_FIELD(seq_length,
        .use = FieldUse::required,
        .meaning = "Tokens of a sequence.",
        .values = {1, 100'000'000}, .unit = "tokens", .flags = {"--seq-length"}),
    ORRERY_MODEL_FIELD(vocab_size,
        .use = FieldUse::required,
        .meaning = "Entries of the vocabulary, padding included.",
        .values = {1, 100'000'000}, .unit = "entries",
        .translated_flags = {"--vocab-size", "--tokenizer-type"}),
    ORRERY_MODEL_FIELD(normalization,
        .meaning = "Kind of the norms.",
        .values = kNormalizations, .flags = {"--normalization"}),
    ORRERY_MODEL_KEY(position_embedding, "position_embedding_type",
        .meaning = "How positions enter: added to the embedding, or as rotations of queries and "
                   "keys.",
        .values = kPositionEmbeddings, .flags = {"--position-embedding-type"}),
    ORRERY_MODEL_FIELD(activation,
        .meaning = "Activation function of the MLP; swiglu and geglu gate it by a second product.",
        .values = kActivations, .translated_flags = {"--swiglu", "--squared-relu"}),
    ORRERY_MODEL_FIELD(activation_func_clamp_value,
        .meaning = "The halves of a gated activation are clamped to it, in kernels of their own "
                   "unless plan.fused_activation; 0: not clamped.",
        .values = {0, 1'000'000}),
    ORRERY_MODEL_FIELD(add_bias_linear,
        .meaning = "Products of the layers have biases.",
        .flags = {"--disable-bias-linear"}),
    ORRERY_MODEL_FIELD(add_qkv_bias,
        .meaning = "Without add_bias_linear: the product of queries, keys and values has a bias.",
        .flags = {"--add-qkv-bias"}),
    ORRERY_MODEL_KEY(tied_embeddings, "untie_embeddings_and_output_weights",
        .meaning = "Embedding and output layer have a weight each.",
        .inverted = true, .flags = {"--untie-embeddings-and-output-weights"}),
    ORRERY_MODEL_FIELD(embed_layernorm,
        .meaning = "A norm follows the embedding of the tokens, before their positions are added.",
        .flags = {"--embed-layernorm"}),
    ORRERY_MODEL_FIELD(sandwich_norm,
        .meaning = "The outputs of attention and MLP are normed, too, before they are added."),
    ORRERY_MODEL_FIELD(parallel_block,
        .meaning = "Attention and MLP read the same normed input."),
    ORRERY_MODEL_FIELD(dropout,
        .meaning = "Probability with which dropout zeroes an element.",
        .values = {0, 0.999}, .flags = {"--hidden-dropout"}),
    ORRERY_MODEL_FIELD(sliding_window,
        .meaning = "Attention sees at most this many tokens back, itself included; 0: all.",
        .values = {0, 1'000'000'000}, .unit = "tokens"),
    ORRERY_MODEL_FIELD(sliding_window_every,
        .meaning = "The window applies to every sliding_window_every-th layer.",
        .values = {1, 100'000}, .unit = "layers"),
    ORRERY_MODEL_FIELD(full_attention_every,
        .meaning = "Every full_attention_every-th layer attends in full in spite of the window; "
                   "0: none.",
        .values = {0, 100'000}, .unit = "layers"),
    ORRERY_MODEL_FIELD(linear_attention_every,
        .meaning = "Every linear_attention_every-th layer has linear attention; 0: none.",
        .values = {0, 100'000}, .unit = "layers"),
    ORRERY_MODEL_FIELD(num_experts,
        .meaning = "Experts of a layer, MLPs of which a router chooses for each token; 0: one "
                   "MLP for all.",
        .values = {0, 100'000}, .unit = "experts", .flags = {"--num-experts"}),
    ORRERY_MODEL_FIELD(moe_router_topk,
        .meaning = "Experts that each token is sent to.",
        .values = {1, 10'000}, .unit = "experts", .short_name = "topk",
        .flags = {"--moe-router-topk"}),
    ORRERY_MODEL_FIELD(moe_ffn_hidden_size,
        .meaning = "Width inside an expert.",
        .values = {0, 100'000'000}, .unit = "elements", .default_from = "ffn_hidden_size",
        .flags = {"--moe-ffn-hidden-size"}),
    ORRERY_MODEL_FIELD(moe_shared_expert_intermediate_size,
        .meaning = "Width of the MLP that all tokens pass beside their experts; 0: none.",
        .values = {0, 100'000'000}, .unit = "elements",
        .flags = {"--moe-shared-expert-intermediate-size"}),
    ORRERY_MODEL_FIELD(first_k_dense_replace,
        .meaning = "Leading layers that have one MLP instead of experts.",
        .values = {0, 100'000}, .unit = "layers"),
    ORRERY_MODEL_FIELD(moe_layer_freq,
        .meaning = "Behind the leading layers, every moe_layer_freq-th layer has experts, the "
                   "first of them included.",
        .values = {1, 100'000}, .unit = "layers", .translated_flags = {"--moe-layer-freq"}),
    ORRERY_MODEL_FIELD(moe_router_num_groups,
        .meaning = "Groups that experts lie in, one a node; 0: none.",
        .values = {0, 100'000}, .unit = "groups", .flags = {"--moe-router-num-groups"}),
    ORRERY_MODEL_FIELD(moe_router_group_topk,
        .meaning = "Groups that the experts of a token are in; 0: any.",
        .values = {0, 10'000}, .unit = "groups", .flags = {"--moe-router-group-topk"}),
    ORRERY_MODEL_FIELD(moe_router_score_function,
        .meaning = "Scores of experts: softmax over all of them, or a sigmoid of each.",
        .values = kRouterScoreFunctions, .flags = {"--moe-router-score-function"}),
    ORRERY_MODEL_FIELD(moe_aux_loss_coeff,
        .meaning = "Coefficient of the loss that balances experts; 0: none.",
        .values = {0, 1000}, .flags = {"--moe-aux-loss-coeff"}),
    ORRERY_MODEL_FIELD(moe_router_bias_update_rate,
        .meaning = "What a step adds to, or takes from, the bias by which an expert is chosen; "
                   "0: no bias.",
        .values = {0, 1000}, .flags = {"--moe-router-bias-update-rate"}),
    ORRERY_MODEL_FIELD(mtp_num_layers,
        .meaning = "Modules that predict further tokens, each with a layer of its own.",
        .values = {0, 16}, .unit = "modules", .flags = {"--mtp-num-layers"}),
    ORRERY_MODEL_FIELD(multi_latent_attention,
        .meaning = "Keys and values come from a latent vector of few dimensions.",
        .flags = {"--multi-latent-attention"}),
    ORRERY_MODEL_FIELD(q_lora_rank,
        .meaning = "Size of the latent vector of queries; 0: queries have none.",
        .values = {0, 10'000'000}, .unit = "elements", .flags = {"--q-lora-rank"}),
    ORRERY_MODEL_FIELD(kv_lora_rank,
        .meaning = "Size of the latent vector of keys and values.",
        .values = {1, 10'000'000}, .unit = "elements", .flags = {"--kv-lora-rank"}),
    ORRERY_MODEL_FIELD(qk_head_dim,
        .meaning = "With latent attention, the part of a query's head without position.",
        .values = {1, 32'000}, .unit = "elements", .flags = {"--qk-head-dim"}),
    ORRERY_MODEL_FIELD(qk_pos_emb_head_dim,
        .meaning = "With latent attention, the rotated part of a query's head.",
        .values = {1, 32'000}, .unit = "elements", .flags = {"--qk-pos-emb-head-dim"}),
    ORRERY_MODEL_FIELD(v_head_dim,
        .meaning = "With latent attention, the size of a head of the values.",
        .values = {1, 60'000}, .unit = "elements", .flags = {"--v-head-dim"}),
    ORRERY_MODEL_FIELD(qk_layernorm,
        .meaning = "Each head of queries and keys is normed.",
        .flags = {"--qk-layernorm"}),
};
// clang-format on
#undef ORRERY_MODEL_FIELD
#undef ORRERY_MODEL_KEY

static_assert(has_fields<Transformer, decltype(kModelFields)::kSize>(),
              "a field of Transformer has no row");

// The row of a field: model_field<&Transformer::num_layers>.
template <auto kMember>
inline constexpr const auto& model_field = kRowOf<kModelFields, kMember>;

// Calls `visit(field)` for each ModelField.
template <class Visit>
constexpr void for_each_model_field(Visit visit) {
    kModelFields.each(visit);
}

}  // namespace orrery
