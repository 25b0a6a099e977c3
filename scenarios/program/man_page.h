// SPDX-License-Identifier: Apache-2.0
// Manual pages in the language of man(7), made of what commands say about themselves.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

// The text of a page for man(1): orrery(1), and orrery-COMMAND(1).
std::string program_page(const std::vector<Command>& commands);
std::string command_page(const Command& command);

}  // namespace orrery
