// SPDX-License-Identifier: Apache-2.0
// `orrery diagnose WHAT`: who is sick? Of a recorded run the heat map of its ranks; of a scenario
// the heat map of its simulated step and the pre-flight checks on its modelled cluster; with
// --nproc the checks between real processes on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/views.h"

namespace orrery {

struct DiagnoseArguments : ViewArguments {
    std::string what;  // a scenario file, or the folder of a recorded run
    std::vector<std::string> overrides;
    std::uint32_t num_processes = 0;  // 0: none is started
};

std::vector<CommandOption> diagnose_options(DiagnoseArguments& arguments);

// Returns the exit status: 1 if somebody is suspected.
int diagnose_command(const DiagnoseArguments& arguments);

// `orrery diagnose --nproc N`: the same command line, once more for each process. Returns the exit
// status.
int start_node_checks(DiagnoseArguments arguments);

// As one of several ranks: rank 0 shows what was found.
int check_as_rank(const DiagnoseArguments& arguments);

}  // namespace orrery
