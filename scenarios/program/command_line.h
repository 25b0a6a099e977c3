// SPDX-License-Identifier: Apache-2.0
// The command line of `orrery`: the one owner of CLI11. Each command describes itself
// (scenarios/program/command.h); program/CMakeLists.txt lists them.
#pragma once

namespace orrery {

// Runs the command that the words name, and returns the exit status.
int run_command_line(int argc, char** argv);

}  // namespace orrery
