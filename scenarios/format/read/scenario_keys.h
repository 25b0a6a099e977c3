// SPDX-License-Identifier: Apache-2.0
// All keys of a kind of file as text, from the tables: key_tables.h, models/plan/plan_fields.h,
// models/transformer/transformer_fields.h.
#pragma once

#include <string>
#include <vector>

#include "engine/base/field.h"
#include "scenarios/format/read/file_kind.h"
#include "scenarios/format/read/key_table.h"

namespace orrery {

struct ScenarioKey {
    std::string key;            // "plan.micro_batch_size", "faults[].kind"
    std::string values;         // "1 to 100000000 sequences", "none, selective, full"
    std::string default_value;  // "1", "4 * hidden_size"; empty if there is none
    FieldUse use = FieldUse::optional;
    std::string meaning;             // a sentence
    std::string short_name;          // "mbs"; empty if it has none
    std::vector<std::string> flags;  // Megatron-LM's flags for it: "--micro-batch-size"
    bool searched = false;           // orrery search varies it
    // For a schema. `words` are those of a choice, including other spellings.
    KeyShape shape = KeyShape::any;
    bool listed = false;
    IntegerRange integers{};
    RealRange reals{};
    std::vector<std::string> words{};
    std::string catalogue{};
    const KeyMap* inner = nullptr;

    std::string section() const { return key.substr(0, key.find('.')); }
    std::string name() const { return key.substr(key.rfind('.') + 1); }
};

// The keys of a map whose own path is `path`, without those of maps inside.
std::vector<ScenarioKey> keys_of(const KeyMap& map, const std::string& path);
// All keys of a file; the keys of a map follow it. Keys of a repeated map are listed once.
std::vector<ScenarioKey> all_keys(const KeyMap& map, const std::string& path = {});
// The keys of a scenario, by section.
std::vector<ScenarioKey> scenario_keys();

}  // namespace orrery
