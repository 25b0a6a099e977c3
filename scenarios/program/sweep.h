// SPDX-License-Identifier: Apache-2.0
// `orrery sweep STUDY.yaml`: the points of a study, on all cores, under mpirun, or a shard of them;
// and `orrery merge`, which joins the results of shards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/command.h"
#include "scenarios/program/common_options.h"

namespace orrery {

struct SweepArguments : ViewArguments {
    std::string file;
    std::string results;  // empty: <study>.sqlite in the current folder
    std::string shard;
    std::uint32_t jobs = 0;  // 0: all cores
};

struct MergeArguments {
    std::vector<std::string> files;
    std::string output;
    std::string csv_file;
};

int sweep_command(const SweepArguments& arguments);
int merge_command(const MergeArguments& arguments);

Command describe_sweep();
Command describe_merge();

}  // namespace orrery
