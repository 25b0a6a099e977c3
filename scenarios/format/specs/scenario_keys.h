// SPDX-License-Identifier: Apache-2.0
// The keys of a scenario whose fields stand in a table (models/plan_fields.h,
// models/transformer_fields.h), in words.
#pragma once

#include <string>
#include <vector>

#include "engine/field.h"

namespace orrery {

struct ScenarioKey {
    std::string key;            // "plan.micro_batch_size"
    std::string values;         // "1 to 100000000 sequences", "none, selective, full"
    std::string default_value;  // "1", "4 * hidden_size"; empty if there is none
    FieldUse use = FieldUse::optional;
    std::string meaning;             // a sentence
    std::string short_name;          // "mbs"; empty if it has none
    std::vector<std::string> flags;  // Megatron-LM's that say it, "--micro-batch-size"
    bool searched = false;           // orrery search varies it

    std::string section() const { return key.substr(0, key.find('.')); }
};

// By section, in the order of the tables.
std::vector<ScenarioKey> scenario_keys();

}  // namespace orrery
