// SPDX-License-Identifier: Apache-2.0
// The words of a command line that sets what a command's variables hold: what a process starts its
// ranks with.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

// `name`: of the command. Options without a value, in an old spelling or named in `without` are
// left out; "--nproc" is one of its flags.
std::vector<std::string> command_words(const std::string& name,
                                       const std::vector<CommandOption>& options,
                                       std::initializer_list<std::string_view> without);

}  // namespace orrery
