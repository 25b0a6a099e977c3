// SPDX-License-Identifier: Apache-2.0
// `orrery network`: one communication pattern on a scenario's network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/command.h"
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
    std::string topology_file;  // to write
    std::string store_file;     // congestion-control factors, to write
};

// Returns the exit status.
int network_command(const NetworkArguments& arguments);

}  // namespace orrery
