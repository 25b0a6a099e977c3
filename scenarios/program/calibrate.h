// SPDX-License-Identifier: Apache-2.0
// `orrery calibrate RUN... -o FILE`: makes a profile of the machine from recorded runs.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/views.h"

namespace orrery {

struct CalibrateArguments : ViewArguments {
    std::vector<std::string> runs;
};

// Returns the exit status.
int calibrate_command(const CalibrateArguments& arguments);

}  // namespace orrery
