// SPDX-License-Identifier: Apache-2.0
// The spelling of options and commands in --help, manual pages and shell completion.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

// "-o" and "--output" for "-o,--output", "--no-x" for "!--no-x"; none for a positional word.
std::vector<std::string> flags_of(const CommandOption& option);

// "orrery simulate [OPTIONS] file"
std::string usage_of(const Command& command);
// "--set KEY=VALUE"; for a positional word only its name.
std::string spelling_of(const CommandOption& option);
// The help of the option, with the range of a number.
std::string meaning_of(const CommandOption& option);
// Whether the option is a positional word, without a dash.
bool is_word(const CommandOption& option);

// The words of a command line; `orrery help COMMAND` is `orrery COMMAND --help`.
std::vector<std::string> words_of_line(int argc, char** argv);

}  // namespace orrery
