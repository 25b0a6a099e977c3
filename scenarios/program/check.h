// SPDX-License-Identifier: Apache-2.0
// `orrery check FILE...`: reads and validates scenarios and studies without running them.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/common_options.h"
#include "scenarios/program/views.h"

namespace orrery {

struct CheckArguments : ViewArguments {
    std::vector<std::string> files;
    std::vector<std::string> overrides;
};

int check_command(const CheckArguments& arguments);

}  // namespace orrery
