// SPDX-License-Identifier: Apache-2.0
// `orrery replay TRACE CLUSTER.yaml`: runs a step that another tool described on a cluster of a
// scenario.
#pragma once

#include <string>
#include <vector>

#include "scenarios/program/views.h"

namespace orrery {

struct ReplayArguments : ViewArguments {
    std::string trace;  // Chakra: a folder or NAME.0.et; SimAI: a text
    std::string cluster;
    std::vector<std::string> overrides;
};

int replay_command(const ReplayArguments& arguments);

}  // namespace orrery
