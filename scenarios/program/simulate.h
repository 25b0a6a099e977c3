// SPDX-License-Identifier: Apache-2.0
// `orrery simulate FILE`: reads a scenario, simulates it, and prints the answer. With `--from` the
// scenario is that of an earlier answer in JSON.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"
#include "scenarios/program/views.h"

namespace orrery {

struct SimulateArguments : ViewArguments {
    std::string file;
    std::string result_file;  // repeat this result, in place of `file`
    std::vector<std::string> overrides;
    bool fold = true;
    std::string chakra_folder;
    std::string profile_file;      // measured kernel times
    std::string calibration_file;  // facts that measured steps told
};

// Returns the exit status.
int simulate_command(const SimulateArguments& arguments);

}  // namespace orrery
