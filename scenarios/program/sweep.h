// SPDX-License-Identifier: Apache-2.0
// `orrery sweep STUDY.yaml`: the points of a study, on all cores, under mpirun, or a shard of them.
#pragma once

#include <cstdint>
#include <string>

#include "scenarios/program/command.h"
#include "scenarios/program/views.h"

namespace orrery {

struct SweepArguments : ViewArguments {
    std::string file;
    std::string results;  // empty: <study>.sqlite in the current folder
    std::string shard;
    std::uint32_t jobs = 0;  // 0: all cores
};

int sweep_command(const SweepArguments& arguments);

}  // namespace orrery
