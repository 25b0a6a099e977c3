// SPDX-License-Identifier: Apache-2.0
// `orrery merge`: joins the results of a sweep's shards in one file.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/views.h"

namespace orrery {

struct MergeArguments : ViewArguments {
    std::vector<std::string> files;
    std::string results;  // to write
};

int merge_command(const MergeArguments& arguments);

}  // namespace orrery
