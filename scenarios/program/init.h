// SPDX-License-Identifier: Apache-2.0
// `orrery init FILE`: a first scenario, from options or from the answers to a few questions.
#pragma once

#include <cstdint>
#include <string>

#include "engine/result.h"
#include "scenarios/program/command.h"

namespace orrery {

struct InitArguments {
    std::string file;
    std::string model;
    std::string node;
    std::string fabric;  // of several nodes; empty: taken from the catalogue by the node's NICs
    std::uint32_t nodes = 0;  // 0: ask, or 1
    std::uint32_t tensor = 0;
    std::uint32_t pipeline = 0;
    std::uint32_t batch = 0;
    bool overwrite = false;
};

// The scenario as YAML; an error if the catalogue lacks a name or the plan does not suit the model.
ResultOrErrors<std::string> first_scenario(const InitArguments& arguments);

int init_command(InitArguments arguments);
Command describe_init();

}  // namespace orrery
