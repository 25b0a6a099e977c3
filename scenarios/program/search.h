// SPDX-License-Identifier: Apache-2.0
// `orrery search FILE`: finds the best plan, and the best cluster, for training a model.
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
    std::string calibration_file;  // written by `orrery validate --calibrate-with`; empty: none
    std::uint32_t jobs = 0;        // simulations at the same time; 0: one a core
    std::string fit;               // the quantity to fit into memory; empty: search for plans
    std::int64_t place = 0;        // number of node orders to try; 0: search for plans
};

// Returns the exit status.
int search_command(const SearchArguments& arguments);

// `orrery search --fit`: the longest sequence, or the largest number of layers, that the plan of a
// file can hold.
int search_fit_command(const SearchArguments& arguments);

// `orrery search --place`: the best order of the nodes for the ranks of the file's plan.
int search_place_command(const SearchArguments& arguments);

// `orrery search` among the plans of a training.
// Returns the exit status.
int search_plans_command(const SearchArguments& arguments);

// `orrery search` for a file of kind serving: the best pools.
int search_pools_command(const SearchArguments& arguments);

}  // namespace orrery
