// SPDX-License-Identifier: Apache-2.0
// `orrery init -o FILE`: writes a first scenario, from options or from answers to a few questions.
#pragma once

#include <string>

#include "scenarios/program/command.h"
#include "scenarios/studies/simulate/first_scenario.h"

namespace orrery {

struct InitArguments {
    std::string file;  // empty: standard output
    FirstScenario scenario{};  // missing values are asked for on a terminal
    bool overwrite = false;
};

int init_command(InitArguments arguments);

}  // namespace orrery
