// SPDX-License-Identifier: Apache-2.0
// `orrery search FILE`: finds the plan, and the cluster, that a model should be trained with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// `orrery search --fit`: how long a sequence, or how many layers, the plan of a file holds.
int search_fit_command(const SearchArguments& arguments);

// `orrery search --place`: in which order the ranks of the file's plan should take the nodes.
int search_place_command(const SearchArguments& arguments);

// `orrery search` among the plans of a training.
// Returns the exit status.
int search_plans_command(const SearchArguments& arguments);

// `orrery search` of a file of kind serving: the best pools.
int search_pools_command(const SearchArguments& arguments);

}  // namespace orrery
