// SPDX-License-Identifier: Apache-2.0
// Key names and defaults: the configuration classes of Hugging Face transformers (MixtralConfig,
// Qwen2MoeConfig, Qwen3MoeConfig, DeepseekV2Config, DeepseekV3Config, Llama4TextConfig,
// GptOssConfig, Glm4MoeConfig, OlmoeConfig, PhimoeConfig) and of MiniMax-M2's own
// (configuration_minimax_m2.py).
#include "scenarios/format/read/hf_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "scenarios/format/read/hf_translator.h"
#include "scenarios/format/read/hf_windows.h"

namespace orrery {
namespace {

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

std::string text_of(std::int64_t number) {
    return fmt::format("{}", number);
}

// `shared` experts, each as wide as a routed one.
void translate_shared_experts(HfTranslator& to, std::string_view shared) {
    const DocumentNode* count = to.value(shared);
    if (count != nullptr) {
        to.constant("moe_shared_expert_intermediate_size",
                    text_of(HfTranslator::whole(*count) * to.number("moe_ffn_hidden_size")));
    }
}

// Bias of queries, keys and values alone.
void translate_qkv_bias(HfTranslator& to, bool bias) {
    to.constant("add_bias_linear", "false");
    to.constant("add_qkv_bias", bias ? "true" : "false");
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
        to.constant("add_qkv_bias", "true");
        to.leave_out(fmt::format("attention_bias: biases of attention's output, {} parameters",
                                 to.number("num_layers") * to.number("hidden_size")));
    }
}

void translate_mixtral(HfTranslator& to, std::string_view) {
    translate_grouped_heads(to, "mixtral");
    to.require("intermediate_size", "ffn_hidden_size");
    to.copy_or_assume("num_local_experts", "num_experts", "8", "MixtralConfig");
    to.copy_or_assume("num_experts_per_tok", "moe_router_topk", "2", "MixtralConfig");
    translate_expert_biases(to, false);
}

// Only every n-th layer can have experts.
void translate_qwen_experts(HfTranslator& to) {
    to.require("intermediate_size", "ffn_hidden_size");
    to.require("moe_intermediate_size", "moe_ffn_hidden_size");
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
}

void translate_qwen3(HfTranslator& to, std::string_view) {
    translate_grouped_heads(to, "qwen3_moe");
    to.copy_or_assume("num_experts", "num_experts", "128", "Qwen3MoeConfig");
    to.copy_or_assume("num_experts_per_tok", "moe_router_topk", "8", "Qwen3MoeConfig");
    translate_qwen_experts(to);
    to.constant("qk_layernorm", "true");
    translate_expert_biases(to, false);
}

void translate_qwen2(HfTranslator& to, std::string_view) {
    translate_grouped_heads(to, "qwen2_moe");
    to.copy_or_assume("num_experts", "num_experts", "60", "Qwen2MoeConfig");
    to.copy_or_assume("num_experts_per_tok", "moe_router_topk", "4", "Qwen2MoeConfig");
    translate_qwen_experts(to);
    to.copy_or_assume("shared_expert_intermediate_size",
                      "moe_shared_expert_intermediate_size",
                      "5632",
                      "Qwen2MoeConfig");
    to.leave_out(fmt::format("the gate of the shared expert, which qwen2_moe has: {} parameters",
                             to.number("num_layers") * to.number("hidden_size")));
    translate_qkv_bias(to, to.flag("qkv_bias", true));
}

void translate_deepseek(HfTranslator& to, std::string_view family) {
    to.require("intermediate_size", "ffn_hidden_size");
    to.require("n_routed_experts", "num_experts");
    to.require("num_experts_per_tok", "moe_router_topk");
    to.require("moe_intermediate_size", "moe_ffn_hidden_size");
    to.copy_or_assume("first_k_dense_replace", "first_k_dense_replace", "0", "the family's");
    to.copy("moe_layer_freq", "moe_layer_freq");
    translate_shared_experts(to, "n_shared_experts");
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
    if (to.value("index_topk") != nullptr) {
        to.value("index_head_dim");
        to.value("index_n_heads");
        to.leave_out("index_topk: the indexer that chooses tokens; attention sees all of them");
    }
    translate_expert_biases(to, false);
}

// attention_bias is of queries, keys and values alone.
void translate_glm4(HfTranslator& to, std::string_view) {
    translate_grouped_heads(to, "glm4_moe");
    to.require("intermediate_size", "ffn_hidden_size");
    to.require("moe_intermediate_size", "moe_ffn_hidden_size");
    to.copy_or_assume("n_routed_experts", "num_experts", "128", "Glm4MoeConfig");
    to.copy_or_assume("num_experts_per_tok", "moe_router_topk", "8", "Glm4MoeConfig");
    to.copy_or_assume("first_k_dense_replace", "first_k_dense_replace", "1", "Glm4MoeConfig");
    translate_shared_experts(to, "n_shared_experts");
    to.constant("qk_layernorm", to.flag("use_qk_norm", false) ? "true" : "false");
    translate_qkv_bias(to, to.flag("attention_bias", false));
}

// A norm of queries and keys that covers the whole width costs about what norms of heads do.
void norm_whole_width(HfTranslator& to) {
    to.constant("qk_layernorm", "true");
    to.leave_out("norms of queries and keys cover the whole width: each head is normed instead");
}

void translate_minimax_m2(HfTranslator& to, std::string_view) {
    translate_grouped_heads(to, "minimax_m2");
    to.require("intermediate_size", "ffn_hidden_size");
    to.copy_or_assume("num_local_experts", "num_experts", "256", "MiniMaxM2Config");
    to.copy_or_assume("num_experts_per_tok", "moe_router_topk", "8", "MiniMaxM2Config");
    to.value("shared_intermediate_size");  // 0
    if (to.flag("use_qk_norm", true)) {
        norm_whole_width(to);
    }
    to.value("qk_norm_type");
    translate_expert_biases(to, false);
}

void translate_olmoe(HfTranslator& to, std::string_view) {
    translate_grouped_heads(to, "olmoe");
    to.require("intermediate_size", "ffn_hidden_size");
    to.copy_or_assume("num_experts", "num_experts", "64", "OlmoeConfig");
    to.copy_or_assume("num_experts_per_tok", "moe_router_topk", "8", "OlmoeConfig");
    norm_whole_width(to);
    translate_expert_biases(to, false);
}

void translate_phimoe(HfTranslator& to, std::string_view) {
    translate_grouped_heads(to, "phimoe");
    to.require("intermediate_size", "ffn_hidden_size");
    to.copy_or_assume("num_local_experts", "num_experts", "16", "PhimoeConfig");
    to.copy_or_assume("num_experts_per_tok", "moe_router_topk", "2", "PhimoeConfig");
    to.constant("normalization", "layernorm");
    translate_expert_biases(to, false);
    if (to.flag("lm_head_bias", false)) {
        to.leave_out(fmt::format("lm_head_bias: a bias of the output layer, {} parameters",
                                 to.number("vocab_size")));
    }
}

// Experts have intermediate_size, other layers intermediate_size_mlp. A shared expert is as wide as
// one expert. The last layer of each period of interleave_moe_layer_step has experts.
void translate_llama4(HfTranslator& to, std::string_view) {
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

void translate_gpt_oss(HfTranslator& to, std::string_view) {
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

struct ExpertFamily {
    std::string_view name;
    void (*translate)(HfTranslator&, std::string_view);
};
constexpr ExpertFamily kExpertFamilies[] = {{"mixtral", translate_mixtral},
                                            {"qwen2_moe", translate_qwen2},
                                            {"qwen3_moe", translate_qwen3},
                                            {"deepseek_v2", translate_deepseek},
                                            {"deepseek_v3", translate_deepseek},
                                            {"deepseek_v32", translate_deepseek},
                                            {"kimi_k2", translate_deepseek},
                                            {"llama4", translate_llama4},
                                            {"llama4_text", translate_llama4},
                                            {"gpt_oss", translate_gpt_oss},
                                            {"glm4_moe", translate_glm4},
                                            {"minimax_m2", translate_minimax_m2},
                                            {"olmoe", translate_olmoe},
                                            {"phimoe", translate_phimoe}};

const ExpertFamily* expert_family(std::string_view name) {
    const auto* const found = std::ranges::find(kExpertFamilies, name, &ExpertFamily::name);
    return found == std::end(kExpertFamilies) ? nullptr : found;
}

}  // namespace

std::vector<std::string> hf_families_with_experts() {
    std::vector<std::string> names;
    for (const ExpertFamily& family : kExpertFamilies) {
        names.emplace_back(family.name);
    }
    return names;
}

bool has_hf_experts(std::string_view family) {
    return expert_family(family) != nullptr;
}

ResultOrErrors<HfModel> translate_hf_experts(const DocumentNode& config,
                                             std::string_view family,
                                             Errors errors) {
    const DocumentNode* text = config.find("text_config");
    const bool nested = family == "llama4" && text != nullptr && text->is_map();
    HfTranslator to{nested ? *text : config, errors};
    to.value("model_type");
    translate_expert_model(to);
    expert_family(family)->translate(to, family);
    if (nested) {
        to.leave_out_around(config, "text_config");
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return to.take();
}

}  // namespace orrery
