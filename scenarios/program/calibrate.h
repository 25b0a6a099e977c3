// SPDX-License-Identifier: Apache-2.0
// `orrery calibrate RUN... -o FILE`: what recorded runs say about the machine, as a profile.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

struct CalibrateArguments {
    std::vector<std::string> runs;
    std::string output;
    bool json = false;
};

// Returns the exit status.
int calibrate_command(const CalibrateArguments& arguments);
Command describe_calibrate();

}  // namespace orrery
