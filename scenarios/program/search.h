// SPDX-License-Identifier: Apache-2.0
// `orrery search FILE`: finds the plan, and the cluster, that a model should be trained with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/command.h"
#include "scenarios/program/views.h"

namespace orrery {

struct SearchArguments : ViewArguments {
    std::string file;
    std::vector<std::string> overrides;
    bool sensitivity = false;
    std::string calibration_file;  // facts that measured steps told
    std::uint32_t jobs = 0;        // simulations at a time; 0: one a core
    std::string fit;               // what is to fit into memory; empty: plans are searched
    std::int64_t place = 0;        // orders of the nodes to try; 0: plans are searched
};

// Returns the exit status.
int search_command(const SearchArguments& arguments);

}  // namespace orrery
