// SPDX-License-Identifier: Apache-2.0
// A command line as a list of flags with their values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/import/shell_script.h"

namespace orrery {

struct CommandFlag {
    std::string name;  // "--micro-batch-size"
    std::vector<CommandWord> values;
    std::string where;
};

// Words before the first flag are left out. `--a_b=1` is `--a-b 1`.
std::vector<CommandFlag> flags_of(const std::vector<CommandWord>& words);

// The first flag of this name; null: there is none.
const CommandFlag* find_flag(const std::vector<CommandFlag>& flags, std::string_view name);

// The one value of a flag; none and an error if it has no value, several, or a shell's variable.
// The name of a script may follow the last flag of a launcher.
std::optional<CommandWord> value_of_flag(const CommandFlag& flag, Errors& errors);

// The value as a number from 0 to 1e12; 1 and an error if it is none.
std::int64_t number_of_flag(const CommandFlag& flag, Errors& errors);

}  // namespace orrery
