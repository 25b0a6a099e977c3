// SPDX-License-Identifier: Apache-2.0
// Key names and defaults: the configuration classes of Hugging Face transformers (GPT2Config,
// LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config).
#include "scenarios/format/read/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "scenarios/format/document/json_document.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/read/hf_keys.h"

namespace orrery {
namespace {

// Builds the model section; every entry keeps the place of the JSON value that it comes from.
class Translator {
public:
    Translator(const DocumentNode& config, Errors& errors) : config_(config), errors_(errors) {
        DocumentNode& section = result_.section;
        section.kind = DocumentNode::Kind::map;
        section.source = config.source;
        section.line = config.line;
        section.column = config.column;
    }

    // Not null and there. The key counts as used.
    const DocumentNode* value(std::string_view key) {
        used_.emplace(key);
        const DocumentNode* found = config_.find(key);
        return found == nullptr || found->kind == DocumentNode::Kind::null ? nullptr : found;
    }
    // Also if it is null, which is not the same as a family's default.
    bool has(std::string_view key) const { return config_.find(key) != nullptr; }
    bool copy(std::string_view from, std::string_view to) {
        const DocumentNode* found = value(from);
        if (found != nullptr) {
            set(to, *found);
        }
        return found != nullptr;
    }
    void require(std::string_view from, std::string_view to) {
        if (!copy(from, to)) {
            errors_.push_back({config_.where(),
                               fmt::format("the model lacks the key '{}'", from),
                               "is this a config.json of Hugging Face transformers?"});
        }
    }
    // As the file says, else what transformers assumes.
    void copy_or_assume(std::string_view from,
                        std::string_view to,
                        std::string_view otherwise,
                        std::string_view why) {
        if (!copy(from, to)) {
            constant(to, std::string{otherwise});
            assume(fmt::format("{}: {} ({})", to, otherwise, why));
        }
    }
    void constant(std::string_view to, std::string text) {
        DocumentNode scalar;
        scalar.kind = DocumentNode::Kind::scalar;
        scalar.source = config_.source;
        scalar.line = config_.line;
        scalar.column = config_.column;
        scalar.text = std::move(text);
        set(to, std::move(scalar));
    }
    void assume(std::string what) { result_.assumed.push_back(std::move(what)); }
    void leave_out(std::string what) { result_.changes.push_back(std::move(what)); }

    bool flag(std::string_view key, bool otherwise) {
        const DocumentNode* found = value(key);
        return found == nullptr ? otherwise : found->text == "true";
    }
    // Of the section as far as it is made; 0 if it is not there, or no whole number.
    std::int64_t number(std::string_view key) const {
        const DocumentNode* found = result_.section.find(key);
        return found == nullptr ? 0 : whole(*found);
    }
    static std::int64_t whole(const DocumentNode& node) {
        const double number = MapReader::number(node).value_or(0);
        return number >= 1 && number < 1e9 ? static_cast<std::int64_t>(number) : 0;
    }
    void tie(bool otherwise) {
        if (value("tie_word_embeddings") == nullptr) {
            assume(fmt::format("tie_word_embeddings: {} (the family's default)", otherwise));
        }
        constant("untie_embeddings_and_output_weights",
                 flag("tie_word_embeddings", otherwise) ? "false" : "true");
    }
    // Complains unless the value is one of the words (or absent).
    void is_one_of(std::string_view key, std::initializer_list<std::string_view> words) {
        const DocumentNode* found = value(key);
        if (found == nullptr) {
            assume(fmt::format("{}: {} (the family's default)", key, *words.begin()));
        } else if (std::ranges::find(words, found->text) == words.end()) {
            errors_.push_back({found->where(),
                               fmt::format("{} {} is not supported", key, found->describe()),
                               fmt::format("one of {}", fmt::join(words, ", "))});
        }
    }

    HfModel take() {
        for (std::size_t i = 0; i < config_.keys.size(); ++i) {
            if (!used_.contains(config_.keys[i].text)) {
                left_out(config_.keys[i].text, config_.items[i]);
            }
        }
        return std::move(result_);
    }

private:
    void set(std::string_view to, DocumentNode scalar) {
        DocumentNode key = scalar;
        key.kind = DocumentNode::Kind::scalar;
        key.text = to;
        key.keys.clear();
        key.items.clear();
        result_.section.set(std::move(key), std::move(scalar));
    }
    void left_out(const std::string& name, const DocumentNode& value) {
        const HfKey key = left_out_hf_key(name, value);
        const std::string text =
            value.is_scalar() ? fmt::format("{} {}", name, value.text.substr(0, 40)) : name;
        if (key.effect == HfKeyEffect::none) {
            result_.without_effect.push_back(fmt::format("{} ({})", name, key.why));
        } else if (key.effect == HfKeyEffect::answer) {
            result_.changes.push_back(fmt::format("{}: {}", text, key.why));
        } else {
            result_.unknown.push_back(text);
        }
    }

    const DocumentNode& config_;
    Errors& errors_;
    HfModel result_;
    std::set<std::string, std::less<>> used_;
};

void translate_gpt2(Translator& to) {
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

// Which layers see a window of tokens only: layer_types, or what the family makes of the other
// keys. Empty: none of them.
std::vector<bool> windowed_layers(Translator& to, std::string_view family) {
    std::vector<bool> layers(
        static_cast<std::size_t>(std::min<std::int64_t>(to.number("num_layers"), 100'000)));
    const DocumentNode* types = to.value("layer_types");
    const bool switched_on = to.flag("use_sliding_window", family == "mistral");
    const DocumentNode* first = to.value("max_window_layers");
    if (types != nullptr && types->items.size() != layers.size()) {
        to.leave_out(fmt::format("layer_types: names {} of {} layers, all of them attend in full",
                                 types->items.size(),
                                 layers.size()));
    } else if (types != nullptr) {
        for (std::size_t i = 0; i < layers.size(); ++i) {
            layers[i] = types->items[i].text == "sliding_attention";
            if (!layers[i] && types->items[i].text != "full_attention") {
                to.leave_out(fmt::format(
                    "layer_types {}: layer {} has full attention", types->items[i].text, i));
            }
        }
    } else if (switched_on) {
        // Qwen2Config: 28 layers at the bottom keep full attention.
        const auto from = static_cast<std::size_t>(family == "mistral" ? 0
                                                   : first != nullptr  ? Translator::whole(*first)
                                                                       : 28);
        std::fill(layers.begin() + static_cast<std::ptrdiff_t>(std::min(from, layers.size())),
                  layers.end(),
                  true);
    }
    return layers;
}

// A model has a window in every k-th layer. Layers that alternate the other way round are as many.
void translate_windows(Translator& to, std::string_view family) {
    const std::vector<bool> layers = windowed_layers(to, family);
    const auto count = static_cast<std::size_t>(std::ranges::count(layers, true));
    const DocumentNode* window = to.value("sliding_window");
    if (window == nullptr && (count == 0 || to.has("sliding_window"))) {
        return;
    }
    if (count == 0) {
        if (family == "llama" && !to.has("layer_types")) {
            to.leave_out(fmt::format(
                "sliding_window {}: no key says in which layers, all of them attend in full",
                window->text));
        }
        return;
    }
    constexpr std::size_t kEveryMost = 64;
    std::size_t every = 1;
    const auto fits = [&](std::size_t k, std::size_t shift) {
        for (std::size_t i = 0; i < layers.size(); ++i) {
            if (layers[i] != ((i + 1 + shift) % k == 0)) {
                return false;
            }
        }
        return true;
    };
    while (every <= kEveryMost && !fits(every, 0) &&
           !(fits(every, 1) && layers.size() % every == 0)) {
        ++every;
    }
    const std::string size = window != nullptr ? window->text : "4096";
    if (every > kEveryMost) {
        to.leave_out(fmt::format(
            "a window of {} tokens in {} of {} layers: only every k-th layer can have one, so all "
            "of them attend in full",
            size,
            count,
            layers.size()));
        return;
    }
    to.copy_or_assume("sliding_window", "sliding_window", "4096", "the family's default");
    to.constant("sliding_window_every", fmt::format("{}", every));
}

// What a family has without a key of its own, and biases of which only some are switched on.
void translate_biases(Translator& to, std::string_view family) {
    const auto of = [&](std::string_view key) { return static_cast<double>(to.number(key)); };
    const double layers = of("num_layers");
    const double hidden = of("hidden_size");
    const double ffn = of("ffn_hidden_size");
    const double heads = std::max(1.0, of("num_attention_heads"));
    const double head = of("kv_channels") > 0 ? of("kv_channels") : hidden / heads;
    const double qkv = (heads + 2 * of("num_query_groups")) * head;
    const bool attention = to.flag("attention_bias", false);
    const bool mlp = to.flag("mlp_bias", false);
    to.constant("add_bias_linear", attention && mlp ? "true" : "false");
    if (attention && !mlp) {
        to.leave_out(fmt::format("attention_bias: biases of the attention alone, {:.0f} parameters",
                                 layers * (qkv + hidden)));
    }
    if (mlp && !attention) {
        to.leave_out(fmt::format("mlp_bias: biases of the MLP alone, {:.0f} parameters",
                                 layers * (2 * ffn + hidden)));
    }
    if (family == "qwen2") {
        to.leave_out(fmt::format(
            "biases of query, key and value, which qwen2 has: {:.0f} parameters", layers * qkv));
    } else if (family == "qwen3") {
        to.leave_out(fmt::format("norms of query and key, which qwen3 has: {:.0f} parameters",
                                 layers * 2 * head));
    }
}

void translate_llama(Translator& to, std::string_view family) {
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
    translate_windows(to, family);
    to.is_one_of("hidden_act", {"silu", "swish"});
    to.constant("activation", "swiglu");
    to.constant("normalization", "rmsnorm");
    to.constant("position_embedding_type", "rope");
    translate_biases(to, family);
    to.tie(false);
}

}  // namespace

ResultOrErrors<HfModel> model_of_hf_config(const DocumentNode& config) {
    Errors errors;
    if (!config.is_map()) {
        errors.push_back(
            {config.where(), "a config.json must be a map, not " + config.describe(), {}});
        return unexpected<Errors>(std::move(errors));
    }
    Translator translator{config, errors};
    for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
        if (const DocumentNode* experts = translator.value(key);
            experts != nullptr && experts->is_scalar() && experts->text != "0") {
            errors.push_back({experts->where(),
                              "mixture-of-experts models are not supported yet",
                              "a dense model"});
        }
    }
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
