// SPDX-License-Identifier: Apache-2.0
// `orrery diff A B`: compares two scenarios, or two results of --json.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/views.h"

namespace orrery {

struct DiffArguments : ViewArguments {
    std::string before;
    std::string after;
    std::vector<std::string> overrides;  // apply to `after`
    bool run = false;                    // also simulate both
};

int diff_command(const DiffArguments& arguments);

}  // namespace orrery
