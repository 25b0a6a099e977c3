// SPDX-License-Identifier: Apache-2.0
// `orrery validate CASES.csv`: simulates each published case and compares its step time with the
// measured one.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"
#include "scenarios/program/views.h"

namespace orrery {

struct ValidateArguments : ViewArguments {
    std::string file;
    std::vector<std::string> families;  // only these; all if empty
    std::vector<std::string> assume;    // COLUMN=VALUE, where a row's source does not state it
    std::uint32_t jobs = 0;             // cases at a time; 0: one a core
    std::string calibration_file;       // facts that measured steps told
    std::uint64_t calibrate_with = 0;   // steps of each family that are given; 0: none
    std::uint64_t draws = 5;            // of these steps
    std::uint64_t seed = 1;             // of the draws
};

// Returns the exit status.
int validate_command(const ValidateArguments& arguments);

}  // namespace orrery
