// SPDX-License-Identifier: Apache-2.0
// What a command of `orrery` tells about itself: its options with the variables that they set, and
// what it does then. The command line, the help and the shell completion are made of these.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "engine/result.h"

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
};

struct Command {
    std::string name;
    std::string help;  // one line
    std::vector<CommandOption> options;
    std::vector<std::string> examples;  // what follows "orrery "
    std::function<int()> run;           // returns the exit status; owns what the options set
};

// In the order of `orrery --help`. Each call gives commands with variables of their own.
std::vector<Command> all_commands();

// What is wrong with words that the command line does not take: an unknown command or option with
// the nearest that is known, else `what`.
Error command_line_error(const std::vector<Command>& commands,
                         const std::vector<std::string>& words,
                         const std::string& what);

// The option --set of every command that reads a scenario.
CommandOption override_option(std::vector<std::string>& overrides);
// The option --jobs of commands that simulate many things in one process.
CommandOption jobs_option(std::uint32_t& jobs);

}  // namespace orrery
