// SPDX-License-Identifier: Apache-2.0
// `orrery diagnose WHAT`: finds sick devices. A recorded run gives the heat map of its ranks. A
// scenario gives the heat map of its simulated step and the pre-flight checks on its modelled
// cluster. --nproc runs the checks between real processes on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/views.h"

namespace orrery {

struct DiagnoseArguments : ViewArguments {
    std::string what;  // a scenario file, or the folder of a recorded run
    std::vector<std::string> overrides;
    std::uint32_t num_processes = 0;  // 0: no process is started
};

std::vector<CommandOption> diagnose_options(DiagnoseArguments& arguments);

// Returns the exit status: 1 if there is a suspect.
int diagnose_command(const DiagnoseArguments& arguments);

// `orrery diagnose --nproc N`: runs the same command line in each process. Returns the exit status.
int start_node_checks(DiagnoseArguments arguments);

// Runs the checks as one of several ranks. Rank 0 shows the results.
int check_as_rank(const DiagnoseArguments& arguments);

}  // namespace orrery
