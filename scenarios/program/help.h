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

}  // namespace orrery
