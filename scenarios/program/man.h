// SPDX-License-Identifier: Apache-2.0
// `orrery man`: manual pages, made from the descriptions of commands. `cmake --install` writes all
// of them.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

struct ManArguments {
    std::string command;  // empty: the program's own page
    std::string folder;   // where to write all pages; empty: print one
};

int man_command(const ManArguments& arguments);

// The text of a page in the language of man(7): orrery(1), and orrery-COMMAND(1).
std::string program_page(const std::vector<Command>& commands);
std::string command_page(const Command& command);

}  // namespace orrery
