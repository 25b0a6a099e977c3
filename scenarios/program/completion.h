// SPDX-License-Identifier: Apache-2.0
// `orrery completion SHELL`: a script for bash, zsh or fish that completes commands, options and
// file names, made from the commands' own descriptions.
#pragma once

#include <string>

#include "engine/result.h"
#include "scenarios/program/command.h"

namespace orrery {

std::string bash_script(const std::vector<Command>& commands);
std::string zsh_script(const std::vector<Command>& commands);
std::string fish_script(const std::vector<Command>& commands);

// "bash", "zsh" or "fish".
Result<std::string> completion_script(const std::string& shell,
                                      const std::vector<Command>& commands);

int completion_command(const std::string& shell);

}  // namespace orrery
