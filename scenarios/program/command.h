// SPDX-License-Identifier: Apache-2.0
// What a command of `orrery` tells about itself: its options with the variables that they set, and
// what it does then. The command line, the help and the shell completion are made of these.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace orrery {

struct CommandOption {
    // A variable that outlives parsing: a bool is a flag without a value, a vector an option that
    // can be repeated (or, without a dash in `names`, the words that are left).
    using Target = std::variant<bool*,
                                std::string*,
                                std::vector<std::string>*,
                                std::uint32_t*,
                                std::int64_t*,
                                std::uint64_t*,
                                double*>;
    std::string names;  // "-o,--output"; without a dash: a word in its place; "!--no-x": clears
    Target target;
    std::string help;
    std::string type_name = {};  // "FILE"; empty: by the target's type
    bool required = false;
    std::int64_t least = 0;  // of a whole number, where most > least
    std::int64_t most = 0;
    std::string now = {};  // of an old spelling: the option that replaced it
    bool general = false;  // every command has it
};

// What a command is for, in the order of `orrery --help`.
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
    std::vector<std::string> examples;  // what follows "orrery "
    std::function<int()> run;           // returns the exit status; owns what the options set
};

// In the order of `orrery --help`: by group, with the options of every command. Each call gives
// commands with variables of their own. CMakeLists.txt has the list.
std::vector<Command> all_commands();

}  // namespace orrery
