// SPDX-License-Identifier: Apache-2.0
// `orrery network`: one communication pattern on a scenario's network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/program/views.h"

namespace orrery {

struct NetworkArguments : ViewArguments {
    std::string file;
    std::vector<std::string> overrides;
    std::string pattern = "all_reduce";
    std::string sizes;     // empty: 1MiB..1GiB
    std::string fidelity;  // empty: the scenario's
    std::string profile_file;
    std::uint32_t ranks = 0;
    std::string simgrid_file;
    std::string topology_file;  // file to write
    std::string store_file;     // file for congestion-control factors
};

// Returns the exit status.
int network_command(const NetworkArguments& arguments);

// The options of `orrery network`.
std::vector<CommandOption> network_options(NetworkArguments& arguments);

// Writes the files for NCCL and SimGrid that the arguments name.
Result<void> write_exports(const NetworkArguments& arguments, const Scenario& scenario);

// Measures and stores factors of congestion controls, instead of one pattern. Returns the exit
// status.
int export_congestion(const NetworkArguments& arguments, const Scenario& scenario);

}  // namespace orrery
