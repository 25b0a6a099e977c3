// SPDX-License-Identifier: Apache-2.0
// How options and commands are spelt, for --help, manual pages and the completion of shells.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

// "-o" and "--output" of "-o,--output", "--no-x" of "!--no-x"; none of a word in its place.
std::vector<std::string> flags_of(const CommandOption& option);

// "orrery simulate [OPTIONS] file"
std::string usage_of(const Command& command);
// "--set KEY=VALUE"; of a word in its place its name alone.
std::string spelling_of(const CommandOption& option);
// What its help says, with the range of a number.
std::string meaning_of(const CommandOption& option);
// A word in its place: it has no dash.
bool is_word(const CommandOption& option);

// The words of a command line; `orrery help COMMAND` is `orrery COMMAND --help`.
std::vector<std::string> words_of_line(int argc, char** argv);

}  // namespace orrery
