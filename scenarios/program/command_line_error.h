// SPDX-License-Identifier: Apache-2.0
// What is said of a command line that cannot be read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/program/command.h"

namespace orrery {

// `words` has one or more. What is wrong with words that the command line does not take: an unknown
// command or option with the nearest that is known, else the first option that the command needs
// and that is not `given`, else `what`.
Error command_line_error(const std::vector<Command>& commands,
                         const std::vector<std::string>& words,
                         const std::string& what,
                         const std::function<bool(const std::string& option)>& given = {});

}  // namespace orrery
