// SPDX-License-Identifier: Apache-2.0
// What Megatron-LM's flags mean to a scenario: its arguments.py, in tables. Those of the plan and
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

// Null if the flag is none that is copied to a key.
const MegatronFlag* copied_flag(std::string_view name);
// A key of the plan or the model follows from it, but not by copying
// (format/import/megatron_command.h).
bool is_translated_flag(std::string_view name);
// It changes neither time nor memory: logs, data, learning rates, checkpoints, launch.
bool has_no_effect(std::string_view name);
// Why a scenario can't say it; empty if it can, or if the flag is not known.
std::string_view refused_flag(std::string_view name);

}  // namespace orrery
