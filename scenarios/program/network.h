// SPDX-License-Identifier: Apache-2.0
// `orrery network`: one communication pattern on a scenario's network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/result.h"
#include "engine/units.h"
#include "scenarios/program/command.h"
#include "scenarios/program/common_options.h"

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
Command describe_network();

// "1MiB..8GiB" (each twice the one before), "64KiB,1MiB", "4 MiB", or several of these.
Result<std::vector<Bytes>> parse_sizes(std::string_view text);

}  // namespace orrery
