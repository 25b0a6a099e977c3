// SPDX-License-Identifier: Apache-2.0
// `orrery simulate FILE`: reads a scenario, simulates it, and prints the answer. With `--from` the
// scenario is that of an earlier answer in JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

struct SimulateArguments {
    std::string file;
    std::string result_file;  // repeat this result, in place of `file`
    std::vector<std::string> overrides;
    bool json = false;
    bool fold = true;
    std::string trace_file;
    std::string html_file;
    std::string chakra_folder;
    std::string profile_file;  // measured kernel times
};

// Returns the exit status.
int simulate_command(const SimulateArguments& arguments);

Command describe_simulate();

}  // namespace orrery
