// SPDX-License-Identifier: Apache-2.0
// Key names and defaults: the configuration classes of Hugging Face transformers (MixtralConfig,
// Qwen3MoeConfig, DeepseekV2Config, DeepseekV3Config, Llama4TextConfig, GptOssConfig).
#include "scenarios/format/read/hf_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/format/read/hf_translator.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, 8> kExpertFamilies{"mixtral",
                                                          "qwen3_moe",
                                                          "deepseek_v2",
                                                          "deepseek_v3",
                                                          "kimi_k2",
                                                          "llama4",
                                                          "llama4_text",
                                                          "gpt_oss"};

void translate_expert_model(HfTranslator& to) {
    to.require("num_hidden_layers", "num_layers");
    to.require("hidden_size", "hidden_size");
    to.require("num_attention_heads", "num_attention_heads");
    to.require("max_position_embeddings", "seq_length");
    to.require("vocab_size", "vocab_size");
    to.is_one_of("hidden_act", {"silu", "swish"});
    to.constant("activation", "swiglu");
    to.constant("normalization", "rmsnorm");
    to.constant("position_embedding_type", "rope");
    to.tie(false);
}

void translate_grouped_heads(HfTranslator& to, std::string_view family) {
    to.copy_or_assume("num_key_value_heads",
                      "num_query_groups",
                      family == "qwen3_moe" ? "4" : "8",
                      "the family's num_key_value_heads");
    to.copy("head_dim", "kv_channels");
    translate_hf_windows(to, family);
}

void translate_expert_biases(HfTranslator& to, bool all) {
    if (all) {
        to.constant("add_bias_linear", "true");
        return;
    }
    to.constant("add_bias_linear", "false");
    if (to.flag("attention_bias", false)) {
        to.leave_out("attention_bias: biases of the attention alone");
    }
}

void translate_mixtral(HfTranslator& to) {
    translate_grouped_heads(to, "mixtral");
    to.require("intermediate_size", "ffn_hidden_size");
    to.copy_or_assume("num_local_experts", "num_experts", "8", "MixtralConfig");
    to.copy_or_assume("num_experts_per_tok", "moe_router_topk", "2", "MixtralConfig");
    translate_expert_biases(to, false);
}

// Only every n-th layer can have experts.
void translate_qwen3(HfTranslator& to) {
    translate_grouped_heads(to, "qwen3_moe");
    to.require("intermediate_size", "ffn_hidden_size");
    to.copy_or_assume("num_experts", "num_experts", "128", "Qwen3MoeConfig");
    to.copy_or_assume("num_experts_per_tok", "moe_router_topk", "8", "Qwen3MoeConfig");
    to.require("moe_intermediate_size", "moe_ffn_hidden_size");
    to.constant("qk_layernorm", "true");
    const DocumentNode* step = to.value("decoder_sparse_step");
    const std::int64_t every =
        step == nullptr ? 1 : std::max<std::int64_t>(HfTranslator::whole(*step), 1);
    to.constant("first_k_dense_replace", fmt::format("{}", every - 1));
    to.constant("moe_layer_freq", fmt::format("{}", every));
    const DocumentNode* dense = to.value("mlp_only_layers");
    if (dense != nullptr && !dense->items.empty()) {
        to.leave_out(fmt::format("mlp_only_layers: {} layers without experts have them here",
                                 dense->items.size()));
    }
    translate_expert_biases(to, false);
}

void translate_deepseek(HfTranslator& to, std::string_view family) {
    to.require("intermediate_size", "ffn_hidden_size");
    to.require("n_routed_experts", "num_experts");
    to.require("num_experts_per_tok", "moe_router_topk");
    to.require("moe_intermediate_size", "moe_ffn_hidden_size");
    to.copy_or_assume("first_k_dense_replace", "first_k_dense_replace", "0", "the family's");
    to.copy("moe_layer_freq", "moe_layer_freq");
    const DocumentNode* shared = to.value("n_shared_experts");
    const DocumentNode* width = to.value("moe_intermediate_size");
    if (shared != nullptr && width != nullptr) {
        to.constant("moe_shared_expert_intermediate_size",
                    fmt::format("{}", HfTranslator::whole(*shared) * HfTranslator::whole(*width)));
    }
    to.constant("multi_latent_attention", "true");
    if (!to.copy("q_lora_rank", "q_lora_rank") && !to.has("q_lora_rank")) {
        to.constant("q_lora_rank", "1536");
        to.assume(fmt::format("q_lora_rank: 1536 (the default of {})", family));
    }
    to.require("kv_lora_rank", "kv_lora_rank");
    to.require("qk_nope_head_dim", "qk_head_dim");
    to.require("qk_rope_head_dim", "qk_pos_emb_head_dim");
    to.require("v_head_dim", "v_head_dim");
    to.value("num_key_value_heads");  // equals the heads: latent attention has no groups
    to.value("head_dim");             // size of the rotated part
    translate_expert_biases(to, false);
}

// Experts have intermediate_size, other layers intermediate_size_mlp. A shared expert is as wide as
// one expert. The last layer of each period of interleave_moe_layer_step has experts.
void translate_llama4(HfTranslator& to) {
    translate_grouped_heads(to, "llama4");
    to.require("intermediate_size_mlp", "ffn_hidden_size");
    to.require("intermediate_size", "moe_ffn_hidden_size");
    to.require("intermediate_size", "moe_shared_expert_intermediate_size");
    to.copy_or_assume("num_local_experts", "num_experts", "16", "Llama4TextConfig");
    to.copy_or_assume("num_experts_per_tok", "moe_router_topk", "1", "Llama4TextConfig");
    const DocumentNode* step = to.value("interleave_moe_layer_step");
    const std::int64_t every =
        step == nullptr ? 1 : std::max<std::int64_t>(HfTranslator::whole(*step), 1);
    to.constant("first_k_dense_replace", fmt::format("{}", every - 1));
    to.constant("moe_layer_freq", fmt::format("{}", every));
    const DocumentNode* chunk = to.value("attention_chunk_size");
    if (chunk != nullptr && HfTranslator::whole(*chunk) > 0) {
        to.leave_out(fmt::format("attention_chunk_size {}: all layers attend to the whole sequence",
                                 chunk->text));
    }
    translate_expert_biases(to, false);
}

void translate_gpt_oss(HfTranslator& to) {
    translate_grouped_heads(to, "gpt_oss");
    to.require("intermediate_size", "ffn_hidden_size");
    to.copy_or_assume("num_local_experts", "num_experts", "128", "GptOssConfig");
    to.copy_or_assume("num_experts_per_tok", "moe_router_topk", "4", "GptOssConfig");
    to.value("experts_per_token");  // repeats the previous key
    to.copy_or_assume("swiglu_limit", "activation_func_clamp_value", "7", "GptOssConfig");
    to.flag("attention_bias", true);
    translate_expert_biases(to, true);
    to.leave_out("attention sinks, which gpt_oss has: a parameter a head");
}

}  // namespace

std::vector<std::string> hf_families_with_experts() {
    return {kExpertFamilies.begin(), kExpertFamilies.end()};
}

bool has_hf_experts(std::string_view family) {
    return std::ranges::find(kExpertFamilies, family) != kExpertFamilies.end();
}

ResultOrErrors<HfModel> translate_hf_experts(const DocumentNode& config,
                                             std::string_view family,
                                             Errors errors) {
    const DocumentNode* text = config.find("text_config");
    const bool nested = family == "llama4" && text != nullptr && text->is_map();
    HfTranslator to{nested ? *text : config, errors};
    to.value("model_type");
    translate_expert_model(to);
    if (family == "mixtral") {
        translate_mixtral(to);
    } else if (family == "qwen3_moe") {
        translate_qwen3(to);
    } else if (family.starts_with("llama4")) {
        translate_llama4(to);
    } else if (family == "gpt_oss") {
        translate_gpt_oss(to);
    } else {
        translate_deepseek(to, family);
    }
    if (nested) {
        to.leave_out_around(config, "text_config");
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return to.take();
}

}  // namespace orrery
