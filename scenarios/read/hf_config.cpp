// SPDX-License-Identifier: Apache-2.0
// Key names and defaults: the configuration classes of Hugging Face transformers (GPT2Config,
// LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config).
#include "scenarios/read/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "scenarios/read/json_document.h"
#include "scenarios/read/nearest.h"

namespace orrery {
namespace {

// Builds the model section; every entry keeps the place of the JSON value that it comes from.
class Translator {
public:
    Translator(const DocumentNode& config, Errors& errors) : config_(config), errors_(errors) {
        model_.kind = DocumentNode::Kind::map;
        model_.source = config.source;
        model_.line = config.line;
        model_.column = config.column;
    }

    // Not null and there.
    const DocumentNode* value(std::string_view key) const {
        const DocumentNode* found = config_.find(key);
        return found == nullptr || found->kind == DocumentNode::Kind::null ? nullptr : found;
    }
    void copy(std::string_view from, std::string_view to) {
        if (const DocumentNode* found = value(from)) {
            put(to, *found);
        }
    }
    void require(std::string_view from, std::string_view to) {
        if (value(from) == nullptr) {
            errors_.push_back({config_.where(),
                               fmt::format("the model lacks the key '{}'", from),
                               "is this a config.json of Hugging Face transformers?"});
        }
        copy(from, to);
    }
    void constant(std::string_view to, std::string text) {
        DocumentNode scalar;
        scalar.kind = DocumentNode::Kind::scalar;
        scalar.source = config_.source;
        scalar.line = config_.line;
        scalar.column = config_.column;
        scalar.text = std::move(text);
        put(to, std::move(scalar));
    }
    bool flag(std::string_view key, bool otherwise) const {
        const DocumentNode* found = value(key);
        return found == nullptr ? otherwise : found->text == "true";
    }
    // Complains unless the value is one of the words (or absent).
    bool is_one_of(std::string_view key, std::initializer_list<std::string_view> words) {
        const DocumentNode* found = value(key);
        if (found == nullptr) {
            return true;
        }
        for (const std::string_view word : words) {
            if (found->text == word) {
                return true;
            }
        }
        errors_.push_back({found->where(),
                           fmt::format("{} {} is not supported", key, found->describe()),
                           fmt::format("one of {}", fmt::join(words, ", "))});
        return false;
    }
    DocumentNode take() { return std::move(model_); }

private:
    void put(std::string_view to, DocumentNode scalar) {
        DocumentNode key = scalar;
        key.kind = DocumentNode::Kind::scalar;
        key.text = to;
        key.keys.clear();
        key.items.clear();
        model_.set(std::move(key), std::move(scalar));
    }

    const DocumentNode& config_;
    Errors& errors_;
    DocumentNode model_;
};

void translate_gpt2(Translator& to) {
    to.require("n_layer", "num_layers");
    to.require("n_embd", "hidden_size");
    to.require("n_head", "num_attention_heads");
    to.copy("n_inner", "ffn_hidden_size");
    to.require("n_positions", "seq_length");
    to.require("vocab_size", "vocab_size");
    to.copy("resid_pdrop", "dropout");
    to.is_one_of("activation_function", {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"});
    to.constant("untie_embeddings_and_output_weights",
                to.flag("tie_word_embeddings", true) ? "false" : "true");
}

void translate_llama(Translator& to, std::string_view family) {
    to.require("num_hidden_layers", "num_layers");
    to.require("hidden_size", "hidden_size");
    to.require("intermediate_size", "ffn_hidden_size");
    to.require("num_attention_heads", "num_attention_heads");
    to.copy("num_key_value_heads", "num_query_groups");
    to.copy("head_dim", "kv_channels");
    to.require("max_position_embeddings", "seq_length");
    to.require("vocab_size", "vocab_size");
    if (to.flag("use_sliding_window", family == "mistral")) {
        to.copy("sliding_window", "sliding_window");
    }
    to.is_one_of("hidden_act", {"silu", "swish"});
    to.constant("activation", "swiglu");
    to.constant("normalization", "rmsnorm");
    to.constant("position_embedding_type", "rope");
    to.constant("add_bias_linear", "false");
    to.constant("untie_embeddings_and_output_weights",
                to.flag("tie_word_embeddings", false) ? "false" : "true");
}

}  // namespace

ResultOrErrors<DocumentNode> model_of_hf_config(const DocumentNode& config) {
    Errors errors;
    if (!config.is_map()) {
        errors.push_back(
            {config.where(), "a config.json must be a map, not " + config.describe(), {}});
        return unexpected<Errors>(std::move(errors));
    }
    for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
        if (const DocumentNode* experts = config.find(key);
            experts != nullptr && experts->is_scalar() && experts->text != "0") {
            errors.push_back({experts->where(),
                              "mixture-of-experts models are not supported yet",
                              "a dense model"});
        }
    }
    Translator translator{config, errors};
    const DocumentNode* type = translator.value("model_type");
    const std::string family = type != nullptr && type->is_scalar() ? type->text : "";
    const std::vector<std::string> known = {"gpt2", "llama", "mistral", "qwen2", "qwen3"};
    if (family == "gpt2") {
        translate_gpt2(translator);
    } else if (std::find(known.begin(), known.end(), family) != known.end()) {
        translate_llama(translator, family);
    } else {
        errors.push_back(
            {type != nullptr ? type->where() : config.where(),
             fmt::format("model_type '{}' is not supported", family),
             fmt::format("one of {}; or write the dimensions out", fmt::join(known, ", "))});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return translator.take();
}

ResultOrErrors<DocumentNode> read_hf_config(const std::filesystem::path& path) {
    ResultOrErrors<DocumentNode> config = read_json_file(path);
    if (!config) {
        return config;
    }
    return model_of_hf_config(*config);
}

}  // namespace orrery
