// SPDX-License-Identifier: Apache-2.0
// The texts of --help, made of what commands say about themselves.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

// `orrery --help`: the commands by group, and where to begin.
std::string program_help(const std::vector<Command>& commands);
// `orrery COMMAND --help`
std::string command_help(const Command& command);

// "orrery simulate [OPTIONS] file"
std::string usage_of(const Command& command);
// "--set KEY=VALUE"; of a word in its place its name alone.
std::string spelling_of(const CommandOption& option);
// What its help says, with the range of a number.
std::string meaning_of(const CommandOption& option);
// A word in its place: it has no dash.
bool is_word(const CommandOption& option);

}  // namespace orrery
