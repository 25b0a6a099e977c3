// SPDX-License-Identifier: Apache-2.0
// `orrery profile -o FILE`: measures this machine's kernels, collectives and host by real training
// steps of small models (scenarios/studies/measure/profile_cases.h) or of one scenario. In real
// steps a kernel has the executor's own operands, threads and neighbours, and finds the caches as
// they are there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

struct ProfileArguments {
    std::string device = "cpu";
    std::string output;
    std::string scenario;  // --for; empty: the small models
    std::vector<std::string> overrides;
    std::uint32_t ranks_max = 0;  // 0: as many as there are cores, or GPUs
    bool json = false;
};

// Returns the exit status.
int profile_command(const ProfileArguments& arguments);
Command describe_profile();

}  // namespace orrery
