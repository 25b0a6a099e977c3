// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/specs/scenario_keys.h"

#include "models/plan_fields.h"
#include "models/transformer_fields.h"
#include "scenarios/format/document/read_field.h"

namespace orrery {

namespace {

template <class Field>
ScenarioKey key_of(const Field& field, const char* section, std::string default_value) {
    ScenarioKey key{.key = section + std::string{field.name},
                    .values = values_text(field),
                    .default_value = {},
                    .use = field.use,
                    .meaning = std::string{field.meaning},
                    .short_name = std::string{field.short_name},
                    .flags = {}};
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

}  // namespace

std::vector<ScenarioKey> scenario_keys() {
    std::vector<ScenarioKey> keys;
    for_each_model_field(
        [&](const auto& field) { keys.push_back(key_of(field, "model.", default_of(field))); });
    const ParallelPlan plan;
    for_each_plan_field([&](const auto& field) {
        keys.push_back(key_of(field, "plan.", field_text(field, plan.*field.member)));
        keys.back().searched = field.searched;
    });
    return keys;
}

}  // namespace orrery
