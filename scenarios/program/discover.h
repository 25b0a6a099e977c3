// SPDX-License-Identifier: Apache-2.0
// `orrery discover`: writes the `cluster:` part of a scenario from this machine itself.
#pragma once

#include <string>

#include "scenarios/program/views.h"

namespace orrery {

struct DiscoverArguments : ViewArguments {
    std::string topology_file;  // written by NCCL; empty: none
    std::string device;         // "cpu" or "cuda"; empty: GPUs if there are any
};

// Returns the exit status.
int discover_command(const DiscoverArguments& arguments);

}  // namespace orrery
