// SPDX-License-Identifier: Apache-2.0
// `orrery serve FILE`: requests, the instances that serve them, and how long they wait.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"
#include "scenarios/program/common_options.h"

namespace orrery {

struct ServeArguments : ViewArguments {
    std::string file;
    std::vector<std::string> overrides;
};

// Returns the exit status.
int serve_command(const ServeArguments& arguments);

Command describe_serve();

}  // namespace orrery
