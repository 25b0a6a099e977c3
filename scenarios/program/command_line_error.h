// SPDX-License-Identifier: Apache-2.0
// What is said of a command line that cannot be read.
#pragma once

#include <string>
#include <vector>

#include "engine/result.h"
#include "scenarios/program/command.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace orrery {

// The first option that the command needs and the line does not have; null if the error is another
// one.
const CommandOption* missing_option(const CLI::ParseError& error,
                                    const CLI::App& app,
                                    const std::vector<Command>& commands);

// `words` has one or more. What is wrong with words that the command line does not take: an unknown
// command or option with the nearest that is known, else what `missing` means, else `what`.
Error command_line_error(const std::vector<Command>& commands,
                         const std::vector<std::string>& words,
                         const std::string& what,
                         const CommandOption* missing = nullptr);

}  // namespace orrery
