// SPDX-License-Identifier: Apache-2.0
// `orrery merge`: joins the results of a sweep's shards in one file.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/command.h"

namespace orrery {

struct MergeArguments {
    std::vector<std::string> files;
    std::string output;
    std::string csv_file;
};

int merge_command(const MergeArguments& arguments);

Command describe_merge();

}  // namespace orrery
