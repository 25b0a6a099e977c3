// SPDX-License-Identifier: Apache-2.0
// The model section: a catalogue name, the fields of Transformer
// (models/transformer/transformer_fields.h) under Megatron-LM's names, or hf_config with keys that
// override it. Defaults are Megatron-LM's: ffn_hidden_size 4h, heads of h/heads, as many key-value
// heads as heads, GPT style (learned positions, LayerNorm, GELU, biases, tied embeddings).
#include <fmt/format.h>

#include <set>
#include <utility>

#include "models/transformer/transformer_fields.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/document/overrides.h"
#include "scenarios/format/document/read_field.h"
#include "scenarios/format/read/hf_config.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

// Replaces {hf_config: path, …} by the model of the file, with the other keys on top.
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
    erase_key(own, "hf_config");
    section = overlaid(std::move(base->section), own);
    return true;
}

using GivenKeys = std::set<std::string_view>;

GivenKeys read_fields(MapReader& reader, Transformer& model) {
    GivenKeys given;
    for_each_model_field([&](const auto& field) {
        auto value = model.*field.member;
        if constexpr (std::is_same_v<decltype(value), bool>) {
            value = value != field.inverted;
        }
        if (!read_field(reader, field, value)) {
            return;
        }
        given.insert(field.name);
        if constexpr (std::is_same_v<decltype(value), bool>) {
            value = value != field.inverted;
        }
        model.*field.member = value;
    });
    return given;
}

// Derives missing sizes from other keys.
void derive_sizes(MapReader& reader, const GivenKeys& given, Transformer& model) {
    const auto has = [&](const auto& field) { return given.contains(field.name); };
    const bool heads = has(model_field<&Transformer::num_attention_heads>);
    const bool hidden = has(model_field<&Transformer::hidden_size>);
    if (!has(model_field<&Transformer::ffn_hidden_size>)) {
        model.ffn_hidden_size = 4 * model.hidden_size;
    }
    if (!has(model_field<&Transformer::num_query_groups>)) {
        model.num_query_groups = model.num_attention_heads;
    } else if (heads && model.num_attention_heads % model.num_query_groups != 0) {
        reader.complain(model_field<&Transformer::num_query_groups>.name,
                        fmt::format("num_query_groups {} does not divide num_attention_heads {}",
                                    model.num_query_groups,
                                    model.num_attention_heads));
    }
    if (!has(model_field<&Transformer::kv_channels>) && hidden && heads) {
        if (model.hidden_size % model.num_attention_heads != 0) {
            reader.complain(model_field<&Transformer::num_attention_heads>.name,
                            fmt::format("num_attention_heads {} does not divide hidden_size {}",
                                        model.num_attention_heads,
                                        model.hidden_size),
                            "give kv_channels, the size of a head");
        }
        model.kv_channels = model.hidden_size / model.num_attention_heads;
    }
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
    const GivenKeys given = read_fields(reader, model);
    derive_sizes(reader, given, model);
    reader.finish();
}

}  // namespace orrery
