// SPDX-License-Identifier: Apache-2.0
// The error for an invalid command line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/program/command.h"

namespace orrery {

// The error for words that the command line does not accept; `words` is not empty. It names an
// unknown command or option with the nearest known one. Otherwise it names the first required
// option that is not `given`, or else is `what`.
Error command_line_error(const std::vector<Command>& commands,
                         const std::vector<std::string>& words,
                         const std::string& what,
                         const std::function<bool(const std::string& option)>& given = {});

// Why a word names no file or folder for this option; empty if it does.
std::string why_no_name(const CommandOption& option, const std::string& word);

}  // namespace orrery
