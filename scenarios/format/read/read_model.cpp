// SPDX-License-Identifier: Apache-2.0
// The model section: a catalogue name, dimensions under Megatron-LM's names, or hf_config with keys
// that override it. Defaults are Megatron-LM's too: ffn_hidden_size 4h, heads of h/heads, as many
// key-value heads as heads, GPT style (learned positions, LayerNorm, GELU, biases, tied
// embeddings).
#include <fmt/format.h>

#include <utility>

#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/read/hf_config.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

constexpr Choice<Normalization> kNormalizations[] = {
    {"layernorm", Normalization::layernorm},
    {"rmsnorm", Normalization::rmsnorm},
    {"LayerNorm", Normalization::layernorm},  // Megatron-LM's spelling
    {"RMSNorm", Normalization::rmsnorm},
};
constexpr Choice<PositionEmbedding> kPositionEmbeddings[] = {
    {"learned", PositionEmbedding::learned},
    {"rope", PositionEmbedding::rope},
    {"none", PositionEmbedding::none},
    {"learned_absolute", PositionEmbedding::learned},  // Megatron-LM's spelling
};
constexpr Choice<Activation> kActivations[] = {
    {"gelu", Activation::gelu},
    {"squared_relu", Activation::squared_relu},
    {"swiglu", Activation::swiglu},
    {"geglu", Activation::geglu},
};

// {hf_config: path, …} becomes the model that the file describes, with the other keys on top.
bool replace_hf_config(DocumentNode& section,
                       const std::filesystem::path& folder,
                       std::vector<std::string>& remarks,
                       Errors& errors) {
    const DocumentNode* path = section.find("hf_config");
    if (path == nullptr) {
        return true;
    }
    if (!path->is_scalar() || path->text.empty()) {
        errors.push_back({path->where(), "model.hf_config must be the path of a config.json", {}});
        return false;
    }
    if (section.find("base") != nullptr) {
        errors.push_back({path->where(), "model has both base and hf_config", "keep one of them"});
        return false;
    }
    ResultOrErrors<HfModel> base = read_hf_config(folder / path->text);
    if (!base) {
        errors.insert(errors.end(), base.error().begin(), base.error().end());
        return false;
    }
    std::vector<std::string> given;
    for (const DocumentNode& key : section.keys) {
        given.push_back(key.text);
    }
    for (const std::string& remark : remarks_on(*base, given)) {
        remarks.push_back("model.hf_config: " + remark);
    }
    DocumentNode own = section;
    const auto at = static_cast<std::ptrdiff_t>(key_position(own, "hf_config"));
    own.keys.erase(own.keys.begin() + at);
    own.items.erase(own.items.begin() + at);
    section = overlaid(std::move(base->section), own);
    return true;
}

void read_attention(MapReader& reader, Transformer& model, bool heads_known) {
    model.num_query_groups = model.num_attention_heads;
    if (reader.integer("num_query_groups", model.num_query_groups, {1, 1'000'000}) && heads_known &&
        model.num_attention_heads % model.num_query_groups != 0) {
        reader.complain("num_query_groups",
                        fmt::format("num_query_groups {} does not divide num_attention_heads {}",
                                    model.num_query_groups,
                                    model.num_attention_heads));
    }
    const bool given = reader.integer("kv_channels", model.kv_channels, {1, 1'000'000});
    if (!given && heads_known) {
        if (model.hidden_size % model.num_attention_heads != 0) {
            reader.complain("num_attention_heads",
                            fmt::format("num_attention_heads {} does not divide hidden_size {}",
                                        model.num_attention_heads,
                                        model.hidden_size),
                            "give kv_channels, the size of a head");
        }
        model.kv_channels = model.hidden_size / model.num_attention_heads;
    }
    reader.integer("sliding_window", model.sliding_window, {0, 1'000'000'000});
    reader.integer("sliding_window_every", model.sliding_window_every, {1, 100'000});
}

}  // namespace

void read_model(DocumentNode& section,
                const Catalogue& catalogue,
                const std::filesystem::path& folder,
                Transformer& model,
                std::vector<std::string>& remarks,
                Errors& errors) {
    if (section.is_map() && !replace_hf_config(section, folder, remarks, errors)) {
        return;
    }
    DocumentNode map = catalogue.resolve(section, "models", "model", errors);
    if (!map.is_map()) {
        return;
    }
    section = std::move(map);
    MapReader reader{section, "model", errors};
    const auto required = Presence::required;
    reader.word("name", model.name);
    reader.integer("num_layers", model.num_layers, {1, 100'000}, required);
    const bool hidden = reader.integer("hidden_size", model.hidden_size, {1, 10'000'000}, required);
    const bool heads =
        reader.integer("num_attention_heads", model.num_attention_heads, {1, 1'000'000}, required);
    model.ffn_hidden_size = 4 * model.hidden_size;
    reader.integer("ffn_hidden_size", model.ffn_hidden_size, {1, 100'000'000});
    read_attention(reader, model, hidden && heads);
    reader.integer("seq_length", model.seq_length, {1, 100'000'000}, required);
    reader.integer("vocab_size", model.vocab_size, {1, 100'000'000}, required);
    reader.choice("normalization", model.normalization, kNormalizations);
    reader.choice("position_embedding_type", model.position_embedding, kPositionEmbeddings);
    reader.choice("activation", model.activation, kActivations);
    reader.boolean("add_bias_linear", model.add_bias_linear);
    bool untied = !model.tied_embeddings;
    reader.boolean("untie_embeddings_and_output_weights", untied);
    model.tied_embeddings = !untied;
    reader.boolean("parallel_block", model.parallel_block);
    reader.real("dropout", model.dropout, 0, 0.999);
    for (const char* key : {"num_experts", "num_moe_experts"}) {
        reader.refuse(key, "mixture-of-experts models are not supported yet", "a dense model");
    }
    reader.finish();
}

}  // namespace orrery
