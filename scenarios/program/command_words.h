// SPDX-License-Identifier: Apache-2.0
// The command line that sets the present values of a command's variables. A process starts its
// ranks with it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

// `name` is the command's. Options without a value, options in an old spelling, and options with a
// flag in `without` ("--nproc") are left out.
std::vector<std::string> command_words(const std::string& name,
                                       const std::vector<CommandOption>& options,
                                       std::initializer_list<std::string_view> without);

}  // namespace orrery
