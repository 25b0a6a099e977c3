// SPDX-License-Identifier: Apache-2.0
// The texts of --help, made from the descriptions of commands.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

// `orrery --help`: the commands by group, and a first example.
std::string program_help(const std::vector<Command>& commands);
// `orrery COMMAND --help`
std::string command_help(const Command& command);

}  // namespace orrery
