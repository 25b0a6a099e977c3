// SPDX-License-Identifier: Apache-2.0
// `orrery show FILE`: the scenario as it is simulated, as YAML.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

struct ShowArguments {
    std::string file;
    std::vector<std::string> overrides;
    std::string output;  // empty: standard output
    bool plain = false;  // without defaults
    bool json = false;
};

int show_command(const ShowArguments& arguments);
Command describe_show();

}  // namespace orrery
