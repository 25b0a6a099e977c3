// SPDX-License-Identifier: Apache-2.0
// Meaning of Megatron-LM's flags (arguments.py) for a scenario, as tables. Flags of the plan and
// the model come from the tables of their fields (models/plan/plan_fields.h, transformer_fields.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery {

enum class FlagKind : std::uint8_t {
    whole_number,
    real,
    word,
    turn_on,   // without a value: the key is true
    turn_off,  // the key is false
};

struct MegatronFlag {
    std::string_view name;  // "--num-layers"
    std::string key;        // "model.num_layers"
    FlagKind kind = FlagKind::whole_number;
};

// Null if the flag is not copied to a key.
const MegatronFlag* copied_flag(std::string_view name);
// Whether a key of the plan or the model follows from the flag, but not by copying
// (format/import/megatron_command.h).
bool is_translated_flag(std::string_view name);
// Whether the flag changes neither time nor memory: logs, data, learning rates, checkpoints,
// launch.
bool has_no_effect(std::string_view name);
// The reason why a scenario cannot express the flag; empty if it can, or if the flag is unknown.
std::string_view refused_flag(std::string_view name);

}  // namespace orrery
