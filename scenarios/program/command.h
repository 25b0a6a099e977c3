// SPDX-License-Identifier: Apache-2.0
// The description of a command of `orrery`: its options with the variables that they set, and its
// function. Command line, help and shell completion are made from these descriptions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "scenarios/format/read/key_use.h"

namespace orrery {

struct CommandOption {
    // A variable that outlives parsing. A bool is a flag without a value. A vector is an option
    // that may be repeated, or, without a dash in `names`, all remaining words.
    using Target = std::variant<bool*,
                                std::string*,
                                std::vector<std::string>*,
                                std::uint32_t*,
                                std::int64_t*,
                                std::uint64_t*,
                                double*>;
    std::string names;  // "-o,--output"; without a dash: a positional word; "!--no-x": clears
    Target target;
    std::string help;
    std::string type_name = {};  // "FILE"; empty: by the target's type
    bool required = false;
    std::int64_t least = 0;  // range of a whole number; valid if most > least
    std::int64_t most = 0;
    std::string now = {};  // for an old spelling: the option that replaces it
    bool general = false;  // whether every command has it
    // Of --set, and of a study: the keys of a scenario that the command reads.
    KeyUses reads = {};
};

// The purpose of a command, in the order of `orrery --help`.
enum class CommandGroup : std::uint8_t {
    scenarios,
    predict,
    train,
    measure,
    exchange,
    judge,
    help
};
std::string_view title_of(CommandGroup group);

struct Command {
    std::string name;
    CommandGroup group = CommandGroup::help;
    std::string help;  // one line
    std::vector<CommandOption> options;
    std::vector<std::string> examples;  // without the leading "orrery "
    std::function<int()> run;  // returns the exit status; owns the variables of the options
};

// In the order of `orrery --help`: by group, with the options of every command. Each call returns
// commands with their own variables. CMakeLists.txt has the list.
std::vector<Command> all_commands();

}  // namespace orrery
