// SPDX-License-Identifier: Apache-2.0
// `orrery sweep STUDY.yaml`: the points of a study, on all cores, under mpirun, or a shard of them;
// and `orrery merge`, which joins the results of shards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

struct SweepArguments {
    std::string file;
    std::string results;  // empty: <study>.sqlite in the current folder
    std::string shard;
    std::string csv_file;
    std::uint32_t jobs = 0;  // 0: all cores
    bool json = false;
    std::string html_file;
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
