// SPDX-License-Identifier: Apache-2.0
// `orrery explain SCENARIO`: what limits it, and which change would help most.
#pragma once

#include <string>
#include <vector>

#include "scenarios/commands/command.h"

namespace orrery {

struct ExplainArguments {
    std::string file;
    std::vector<std::string> overrides;
    std::uint64_t keep = 5;
    bool json = false;
    std::uint32_t jobs = 0;  // changes at a time; 0: one a core
};

int explain_command(const ExplainArguments& arguments);
Command describe_explain();

}  // namespace orrery
