// SPDX-License-Identifier: Apache-2.0
// Key names and defaults: the configuration classes of Hugging Face transformers (Phi3Config,
// GemmaConfig, Gemma2Config, Gemma3TextConfig, GlmConfig, Glm4Config, Starcoder2Config,
// GPTNeoXConfig, FalconConfig, OPTConfig, BloomConfig).
#include "scenarios/format/read/hf_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "scenarios/format/read/hf_windows.h"

namespace orrery {
namespace {

constexpr const char* kOnlyExact = "only models that the keys of a model section say exactly";

// An error at the key, or at the whole file if the family's default is the cause.
void refuse(HfTranslator& to, std::string_view key, const std::string& why) {
    const DocumentNode* found = to.value(key);
    const DocumentNode& at = found != nullptr ? *found : to.config();
    to.complain(at,
                fmt::format("{} {}: {}",
                            key,
                            found != nullptr ? found->text : "(absent, the family's default)",
                            why),
                kOnlyExact);
}

void translate_sizes(HfTranslator& to) {
    to.require("num_hidden_layers", "num_layers");
    to.require("hidden_size", "hidden_size");
    to.require("num_attention_heads", "num_attention_heads");
    to.require("vocab_size", "vocab_size");
}

// Names of sizes in most families.
void translate_usual_sizes(HfTranslator& to) {
    translate_sizes(to);
    to.require("intermediate_size", "ffn_hidden_size");
    to.require("max_position_embeddings", "seq_length");
}

void say(HfTranslator& to, const char* activation, const char* norm, const char* positions) {
    to.constant("activation", activation);
    to.constant("normalization", norm);
    to.constant("position_embedding_type", positions);
}

std::string heads_of(const HfTranslator& to) {
    return fmt::format("{}", to.number("num_attention_heads"));
}

void translate_phi3(HfTranslator& to) {
    translate_usual_sizes(to);
    to.copy_or_assume("num_key_value_heads",
                      "num_query_groups",
                      heads_of(to),
                      "Phi3Config's num_key_value_heads");
    if (to.value("sliding_window") != nullptr) {
        to.copy("sliding_window", "sliding_window");
    }
    to.is_one_of("hidden_act", {"silu", "swish"});
    say(to, "swiglu", "rmsnorm", "rope");
    to.constant("add_bias_linear", "false");
    to.copy_or_assume("resid_pdrop", "dropout", "0.0", "Phi3Config's resid_pdrop");
    to.tie(false);
}

void translate_gemma(HfTranslator& to) {
    translate_usual_sizes(to);
    to.copy_or_assume(
        "num_key_value_heads", "num_query_groups", "16", "GemmaConfig's num_key_value_heads");
    to.copy_or_assume("head_dim", "kv_channels", "256", "GemmaConfig's head_dim");
    to.is_one_of(to.value("hidden_activation") != nullptr ? "hidden_activation" : "hidden_act",
                 {"gelu_pytorch_tanh", "gelu", "gelu_new", "gelu_fast"});
    to.value("hidden_act");
    say(to, "geglu", "rmsnorm", "rope");
    to.constant("add_bias_linear", "false");
    to.tie(true);
}

// Gemma 2 has a tanh on scores and logits instead of Gemma 3's norms of queries and keys.
void translate_later_gemma(HfTranslator& to, std::string_view family) {
    const bool third = family == "gemma3_text";
    const auto assumed = [&](const char* key, const char* ours, const char* otherwise) {
        to.copy_or_assume(key, ours, otherwise, third ? "Gemma3TextConfig" : "Gemma2Config");
    };
    assumed("num_hidden_layers", "num_layers", "26");
    assumed("hidden_size", "hidden_size", "2304");
    assumed("intermediate_size", "ffn_hidden_size", "9216");
    assumed("num_attention_heads", "num_attention_heads", "8");
    assumed("num_key_value_heads", "num_query_groups", "4");
    assumed("head_dim", "kv_channels", "256");
    assumed("vocab_size", "vocab_size", third ? "262208" : "256000");
    assumed("max_position_embeddings", "seq_length", third ? "131072" : "8192");
    translate_hf_windows(to, family);
    to.is_one_of("hidden_activation", {"gelu_pytorch_tanh", "gelu", "gelu_new", "gelu_fast"});
    to.value("hidden_act");
    say(to, "geglu", "rmsnorm", "rope");
    to.constant("sandwich_norm", "true");
    if (third) {
        to.constant("qk_layernorm", "true");
    }
    to.constant("add_bias_linear", "false");
    to.tie(true);
}

void translate_gemma2(HfTranslator& to) {
    translate_later_gemma(to, "gemma2");
}

void translate_gemma3(HfTranslator& to) {
    translate_later_gemma(to, "gemma3_text");
}

// attention_bias of these families is of queries, keys and values alone.
void translate_glm_layers(HfTranslator& to, bool bias) {
    translate_usual_sizes(to);
    to.copy_or_assume("num_key_value_heads", "num_query_groups", "2", "GlmConfig");
    to.copy_or_assume("head_dim", "kv_channels", "128", "GlmConfig");
    to.is_one_of("hidden_act", {"silu", "swish"});
    say(to, "swiglu", "rmsnorm", "rope");
    to.constant("add_bias_linear", "false");
    to.constant("add_qkv_bias", to.flag("attention_bias", bias) ? "true" : "false");
    to.tie(false);
}

void translate_glm(HfTranslator& to) {
    translate_glm_layers(to, true);
}

void translate_glm4(HfTranslator& to) {
    translate_glm_layers(to, false);
    to.constant("sandwich_norm", "true");
}

void translate_starcoder2(HfTranslator& to) {
    translate_usual_sizes(to);
    to.copy_or_assume("num_key_value_heads", "num_query_groups", "2", "Starcoder2Config");
    if (to.value("sliding_window") != nullptr) {
        to.copy("sliding_window", "sliding_window");
    }
    to.is_one_of("hidden_act", {"gelu_pytorch_tanh", "gelu", "gelu_new", "gelu_fast"});
    to.is_one_of("norm_type", {"layer_norm"});
    to.is_one_of("mlp_type", {"default"});
    say(to, "gelu", "layernorm", "rope");
    to.constant("add_bias_linear", to.flag("use_bias", true) ? "true" : "false");
    to.copy_or_assume("residual_dropout", "dropout", "0.0", "Starcoder2Config");
    to.tie(true);
}

void translate_gpt_neox(HfTranslator& to) {
    translate_usual_sizes(to);
    to.is_one_of("hidden_act", {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"});
    if (to.flag("use_parallel_residual", true)) {
        refuse(to,
               "use_parallel_residual",
               "attention and MLP read norms of their own; a parallel_block has one norm for both");
    }
    if (!to.flag("attention_bias", true)) {
        refuse(to, "attention_bias", "add_bias_linear is of attention and MLP together");
    }
    say(to, "gelu", "layernorm", "rope");
    to.constant("add_bias_linear", "true");
    to.copy_or_assume("hidden_dropout", "dropout", "0.0", "GPTNeoXConfig's hidden_dropout");
    to.tie(false);
}

void translate_falcon(HfTranslator& to) {
    translate_sizes(to);
    to.copy("ffn_hidden_size", "ffn_hidden_size");
    to.copy_or_assume(
        "max_position_embeddings", "seq_length", "2048", "FalconConfig's max_position_embeddings");
    to.is_one_of("activation", {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"});
    if (to.flag("alibi", false)) {
        refuse(to, "alibi", "no model key says positions as a bias on scores");
    }
    const bool grouped = to.flag("new_decoder_architecture", false);
    const DocumentNode* norms = to.value("num_ln_in_parallel_attn");
    if (grouped && (norms == nullptr || norms->text != "1")) {
        refuse(to,
               "new_decoder_architecture",
               "attention and MLP read norms of their own; a parallel_block has one norm for both");
    }
    const bool one_head = to.flag("multi_query", true);
    if (grouped) {
        to.copy_or_assume(
            "num_kv_heads", "num_query_groups", heads_of(to), "FalconConfig's num_kv_heads");
    } else {
        to.value("num_kv_heads");
        to.constant("num_query_groups", one_head ? "1" : heads_of(to));
    }
    const bool parallel = to.flag("parallel_attn", true);
    to.constant("parallel_block", grouped || parallel ? "true" : "false");
    say(to, "gelu", "layernorm", "rope");
    to.constant("add_bias_linear", to.flag("bias", false) ? "true" : "false");
    to.copy_or_assume("hidden_dropout", "dropout", "0.0", "FalconConfig's hidden_dropout");
    to.tie(true);
}

void translate_opt(HfTranslator& to) {
    translate_sizes(to);
    to.require("ffn_dim", "ffn_hidden_size");
    to.require("max_position_embeddings", "seq_length");
    const DocumentNode* activation = to.value("activation_function");
    if (activation == nullptr || activation->text == "relu") {
        refuse(to, "activation_function", "no model key says ReLU (gelu and squared_relu exist)");
    } else {
        to.is_one_of("activation_function", {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"});
    }
    for (const auto& [key, due] : {std::pair{"do_layer_norm_before", true},
                                   {"enable_bias", true},
                                   {"layer_norm_elementwise_affine", true},
                                   {"_remove_final_layer_norm", false}}) {
        if (to.flag(key, due) != due) {
            refuse(to, key, "no model key says it");
        }
    }
    const DocumentNode* embedding = to.value("word_embed_proj_dim");
    if (embedding != nullptr && HfTranslator::whole(*embedding) != to.number("hidden_size")) {
        refuse(to, "word_embed_proj_dim", "embeddings have hidden_size");
    }
    say(to, "gelu", "layernorm", "learned");
    to.constant("add_bias_linear", "true");
    to.copy_or_assume("dropout", "dropout", "0.1", "OPTConfig's dropout");
    to.leave_out(fmt::format("two rows of the positions, which opt has in front: {} parameters",
                             2 * to.number("hidden_size")));
    to.tie(true);
}

// Names of the first checkpoints (n_embed, num_attention_heads) and of BloomConfig.
void translate_bloom(HfTranslator& to) {
    const auto either = [&](const char* first, const char* second, const char* key) {
        if (!to.copy(first, key)) {
            to.require(second, key);
        }
    };
    either("num_hidden_layers", "n_layer", "num_layers");
    either("n_embed", "hidden_size", "hidden_size");
    either("num_attention_heads", "n_head", "num_attention_heads");
    to.require("vocab_size", "vocab_size");
    to.copy("seq_length", "seq_length");
    if (to.flag("apply_residual_connection_post_layernorm", false)) {
        refuse(to, "apply_residual_connection_post_layernorm", "no model key says it");
    }
    say(to, "gelu", "layernorm", "none");
    to.leave_out("positions, which bloom adds to the scores (ALiBi): no model key says it");
    to.constant("embed_layernorm", "true");
    to.constant("add_bias_linear", "true");
    to.copy_or_assume("hidden_dropout", "dropout", "0.0", "BloomConfig's hidden_dropout");
    to.tie(true);
}

using Translate = void (*)(HfTranslator&);
constexpr std::pair<std::string_view, Translate> kFamilies[] = {
    {"phi3", translate_phi3},
    {"gemma", translate_gemma},
    {"gemma2", translate_gemma2},
    {"gemma3", translate_gemma3},
    {"gemma3_text", translate_gemma3},
    {"glm", translate_glm},
    {"glm4", translate_glm4},
    {"starcoder2", translate_starcoder2},
    {"gpt_neox", translate_gpt_neox},
    {"falcon", translate_falcon},
    {"opt", translate_opt},
    {"bloom", translate_bloom}};

}  // namespace

std::vector<std::string> further_hf_families() {
    std::vector<std::string> names;
    for (const auto& [name, translate] : kFamilies) {
        names.emplace_back(name);
    }
    return names;
}

bool translate_further_hf(HfTranslator& to, std::string_view family) {
    const auto* const found =
        std::ranges::find(kFamilies, family, &std::pair<std::string_view, Translate>::first);
    if (found == std::end(kFamilies)) {
        return false;
    }
    found->second(to);
    return true;
}

}  // namespace orrery
