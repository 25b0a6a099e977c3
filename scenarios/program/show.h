// SPDX-License-Identifier: Apache-2.0
// `orrery show FILE`: prints the scenario with overrides, catalogue entries and defaults, as YAML.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/views.h"

namespace orrery {

struct ShowArguments : ViewArguments {
    std::string file;
    std::vector<std::string> overrides;
    bool plain = false;  // without defaults
};

int show_command(const ShowArguments& arguments);

}  // namespace orrery
