// SPDX-License-Identifier: Apache-2.0
// Key names and defaults: the configuration classes of Hugging Face transformers (GPT2Config,
// LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config). Families with experts: hf_experts.cpp.
#include "scenarios/format/read/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "scenarios/format/document/json_document.h"
#include "scenarios/format/read/hf_experts.h"
#include "scenarios/format/read/hf_families.h"
#include "scenarios/format/read/hf_translator.h"
#include "scenarios/format/read/hf_windows.h"

namespace orrery {
namespace {

void translate_gpt2(HfTranslator& to) {
    to.require("n_layer", "num_layers");
    to.require("n_embd", "hidden_size");
    to.require("n_head", "num_attention_heads");
    to.copy("n_inner", "ffn_hidden_size");
    to.require("n_positions", "seq_length");
    to.require("vocab_size", "vocab_size");
    to.copy_or_assume("resid_pdrop", "dropout", "0.1", "GPT2Config's resid_pdrop");
    const DocumentNode* dropout = to.value("resid_pdrop");
    for (const char* key : {"attn_pdrop", "embd_pdrop"}) {
        const DocumentNode* other = to.value(key);
        const std::string own = dropout == nullptr ? "0.1" : dropout->text;
        if (other != nullptr && other->text != own) {
            to.leave_out(fmt::format(
                "{} {}: model.dropout is resid_pdrop, {}, everywhere", key, other->text, own));
        }
    }
    to.is_one_of("activation_function", {"gelu_new", "gelu", "gelu_fast", "gelu_pytorch_tanh"});
    to.tie(true);
}

void translate_biases(HfTranslator& to, std::string_view family) {
    const bool attention = to.flag("attention_bias", false);
    const bool mlp = to.flag("mlp_bias", false);
    to.constant("add_bias_linear", attention && mlp ? "true" : "false");
    if (family == "qwen2" || (attention && !mlp)) {
        to.constant("add_qkv_bias", "true");
    }
    const std::int64_t layers = to.number("num_layers");
    const std::int64_t hidden = to.number("hidden_size");
    if (attention && !mlp) {
        to.leave_out(fmt::format("attention_bias: biases of attention's output, {} parameters",
                                 layers * hidden));
    }
    if (mlp && !attention) {
        to.leave_out(fmt::format("mlp_bias: biases of the MLP alone, {} parameters",
                                 layers * (2 * to.number("ffn_hidden_size") + hidden)));
    }
    if (family == "qwen3") {
        to.constant("qk_layernorm", "true");
    }
}

void translate_llama(HfTranslator& to, std::string_view family) {
    to.require("num_hidden_layers", "num_layers");
    to.require("hidden_size", "hidden_size");
    to.require("intermediate_size", "ffn_hidden_size");
    to.require("num_attention_heads", "num_attention_heads");
    const std::string heads = fmt::format("{}", to.number("num_attention_heads"));
    to.copy_or_assume("num_key_value_heads",
                      "num_query_groups",
                      family == "llama"     ? heads
                      : family == "mistral" ? "8"
                                            : "32",
                      "the family's num_key_value_heads");
    if (!to.copy("head_dim", "kv_channels") && family == "qwen3") {
        to.constant("kv_channels", "128");
        to.assume("kv_channels: 128 (Qwen3Config's head_dim)");
    }
    to.require("max_position_embeddings", "seq_length");
    to.require("vocab_size", "vocab_size");
    translate_hf_windows(to, family);
    to.is_one_of("hidden_act", {"silu", "swish"});
    to.constant("activation", "swiglu");
    to.constant("normalization", "rmsnorm");
    to.constant("position_embedding_type", "rope");
    translate_biases(to, family);
    to.tie(false);
}

std::vector<std::string> known_families() {
    std::vector<std::string> known = {"gpt2", "llama", "mistral", "qwen2", "qwen3"};
    const std::vector<std::string> experts = hf_families_with_experts();
    known.insert(known.end(), experts.begin(), experts.end());
    const std::vector<std::string> further = further_hf_families();
    known.insert(known.end(), further.begin(), further.end());
    return known;
}

}  // namespace

ResultOrErrors<HfModel> model_of_hf_config(const DocumentNode& config) {
    Errors errors;
    if (!config.is_map()) {
        errors.push_back(
            {config.where(), "a config.json must be a map, not " + config.describe(), {}});
        return unexpected<Errors>(std::move(errors));
    }
    const DocumentNode* type = config.find("model_type");
    std::string family = type != nullptr && type->is_scalar() ? type->text : "";
    // Gemma 3 of images, too: its language model is a map of its own.
    const DocumentNode* const text = config.find("text_config");
    const bool nested = family == "gemma3" && text != nullptr && text->is_map();
    family = nested ? "gemma3_text" : family;
    HfTranslator translator{nested ? *text : config, errors};
    translator.value("model_type");
    const std::vector<std::string> known = known_families();
    if (has_hf_experts(family)) {
        return translate_hf_experts(config, family, std::move(errors));
    }
    for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
        if (const DocumentNode* experts = translator.value(key);
            experts != nullptr && experts->is_scalar() && experts->text != "0") {
            errors.push_back(
                {experts->where(),
                 fmt::format("model_type '{}' has no experts here", family),
                 fmt::format("one of {}", fmt::join(hf_families_with_experts(), ", "))});
        }
    }
    if (family == "gpt2") {
        translate_gpt2(translator);
    } else if (translate_further_hf(translator, family)) {
        // The family has translated the model, or reported what has no key.
    } else if (std::find(known.begin(), known.end(), family) != known.end()) {
        translate_llama(translator, family);
    } else {
        errors.push_back(
            {type != nullptr ? type->where() : config.where(),
             fmt::format("model_type '{}' is not supported", family),
             fmt::format("one of {}; or write the dimensions out", fmt::join(known, ", "))});
    }
    if (nested) {
        translator.leave_out_around(config, "text_config");
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return translator.take();
}

std::vector<std::string> remarks_on(const HfModel& model, const std::vector<std::string>& given) {
    const auto is_given = [&](std::string_view key) {
        return std::ranges::find(given, key) != given.end();
    };
    std::vector<std::string> remarks;
    if (const DocumentNode* length = model.section.find("seq_length");
        length != nullptr && !is_given("seq_length")) {
        remarks.push_back(
            fmt::format("seq_length {} is the longest that the model takes; training may use "
                        "shorter ones: give seq_length",
                        length->text));
    }
    for (const std::string& one : model.changes) {
        remarks.push_back("left out, and CHANGES THE ANSWER: " + one);
    }
    for (const std::string& one : model.unknown) {
        remarks.push_back("not known, and left out: " + one);
    }
    for (const std::string& one : model.assumed) {
        if (!is_given(std::string_view{one}.substr(0, one.find(':')))) {
            remarks.push_back("not in the file: " + one);
        }
    }
    return remarks;
}

ResultOrErrors<HfModel> read_hf_config(const std::filesystem::path& path) {
    const ResultOrErrors<DocumentNode> config = read_json_file(path);
    if (!config) {
        return unexpected<Errors>(config.error());
    }
    return model_of_hf_config(*config);
}

}  // namespace orrery
