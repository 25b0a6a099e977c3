// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/scenario_keys.h"

#include <algorithm>
#include <set>

#include "models/plan/plan_fields.h"
#include "models/transformer/transformer_fields.h"
#include "scenarios/format/document/key_synonyms.h"
#include "scenarios/format/document/read_field.h"
#include "scenarios/format/read/key_tables.h"

namespace orrery {
namespace {

std::string joined(const std::string& path, std::string_view name) {
    return path.empty() ? std::string{name} : path + "." + std::string{name};
}

template <class T>
void set_shape(ScenarioKey& key, const typename FieldValues<T>::Type& values) {
    if constexpr (std::is_same_v<T, bool>) {
        key.shape = KeyShape::boolean;
    } else if constexpr (std::is_same_v<T, std::string>) {
        key.shape = KeyShape::word;
    } else if constexpr (std::is_same_v<T, double>) {
        key.shape = KeyShape::real;
        key.reals = values;
    } else if constexpr (std::is_enum_v<T> || std::is_same_v<T, std::uint32_t>) {
        key.shape = KeyShape::choice;
        key.listed = !std::is_enum_v<T>;
        for (const auto& choice : values) {
            key.words.emplace_back(choice.word);
        }
    } else {
        key.shape = KeyShape::integer;
        key.listed = !std::is_same_v<T, std::int64_t>;
        key.integers = values;
    }
}

template <class Field>
ScenarioKey key_of(const Field& field, const std::string& path, std::string default_value) {
    ScenarioKey key{.key = joined(path, field.name),
                    .values = values_text(field),
                    .default_value = {},
                    .use = field.use,
                    .meaning = std::string{field.meaning},
                    .short_name = std::string{field.short_name},
                    .flags = {}};
    set_shape<typename MemberValue<decltype(field.member)>::Type>(key, field.values);
    if (field.use == FieldUse::optional) {
        key.default_value = std::move(default_value);
    }
    for (const FlagNames& flags : {field.flags, field.translated_flags}) {
        for (const std::string_view flag : flags) {
            if (!flag.empty()) {
                key.flags.emplace_back(flag);
            }
        }
    }
    return key;
}

template <class T>
std::string default_of(const ModelField<T>& field) {
    static const Transformer defaults;
    if (!field.default_from.empty()) {
        return std::string{field.default_from};
    }
    if constexpr (std::is_same_v<T, bool>) {
        return field_text(field, defaults.*field.member != field.inverted);
    } else {
        return field_text(field, defaults.*field.member);
    }
}

ScenarioKey key_of(const Key& row, const KeyMap& map, const std::string& path) {
    ScenarioKey key{.key = joined(path, row.name),
                    .values = values_text(row),
                    .default_value = {},
                    .use = row.use,
                    .meaning = std::string{row.meaning},
                    .short_name = {},
                    .flags = {},
                    .shape = row.shape,
                    .listed = row.listed,
                    .integers = row.integers,
                    .reals = row.reals,
                    .catalogue = std::string{row.catalogue},
                    .inner = row.inner};
    if (row.words != nullptr) {
        key.words = row.words(false);
    }
    if (row.use == FieldUse::optional) {
        key.default_value = row.default_words;
        if (key.default_value.empty() && row.text != nullptr && map.defaults != nullptr) {
            key.default_value = row.text(map.defaults());
        }
        if (key.default_value.empty()) {
            key.default_value = "none";
        }
    }
    return key;
}

void add_fields_of_model(const std::string& path, std::vector<ScenarioKey>& keys) {
    for_each_model_field(
        [&](const auto& field) { keys.push_back(key_of(field, path, default_of(field))); });
    keys.push_back(key_of(
        plain("hf_config", KeyShape::path, "A config.json of Hugging Face; other keys change it."),
        {},
        path));
}

void add_fields_of_plan(const std::string& path, std::vector<ScenarioKey>& keys) {
    const ParallelPlan plan;
    for_each_plan_field([&](const auto& field) {
        keys.push_back(key_of(field, path, field_text(field, plan.*field.member)));
        keys.back().searched = field.searched;
    });
}

void add_all(const KeyMap& map,
             const std::string& path,
             std::set<const KeyMap*>& seen,
             std::vector<ScenarioKey>& keys) {
    if (!seen.insert(&map).second) {
        return;
    }
    for (ScenarioKey& key : keys_of(map, path)) {
        const bool list = key.shape == KeyShape::map_list || key.shape == KeyShape::ladder;
        const std::string inside = key.key + (list ? "[]" : "");
        const KeyMap* inner = key.inner;
        keys.push_back(std::move(key));
        if (inner != nullptr) {
            add_all(*inner, inside, seen, keys);
        }
    }
}

}  // namespace

const KeyMap kModelKeys{.name = "model", .fields = add_fields_of_model};
const KeyMap kPlanKeys{.name = "plan", .fields = add_fields_of_plan};

std::vector<ScenarioKey> keys_of(const KeyMap& map, const std::string& path) {
    std::vector<ScenarioKey> keys;
    if (map.fields != nullptr) {
        map.fields(path, keys);
    }
    for (const Key& row : map.keys) {
        keys.push_back(key_of(row, map, path));
    }
    return keys;
}

std::vector<ScenarioKey> all_keys(const KeyMap& map, const std::string& path) {
    std::set<const KeyMap*> seen;
    std::vector<ScenarioKey> keys;
    add_all(map, path, seen, keys);
    return keys;
}

std::vector<ScenarioKey> scenario_keys() {
    return all_keys(kScenarioKeys);
}

// Implements document/key_synonyms.h here, because the tables are above the reader of maps.
std::vector<std::string> maps_with_key(std::string_view name) {
    static const std::vector<ScenarioKey> keys = scenario_keys();
    std::vector<std::string> paths;
    for (const ScenarioKey& key : keys) {
        if (key.name() == name && key.use != FieldUse::derived) {
            paths.push_back(
                key.key.substr(0, key.key.size() - std::min(key.key.size(), name.size() + 1)));
        }
    }
    return paths;
}

}  // namespace orrery
