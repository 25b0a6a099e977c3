// SPDX-License-Identifier: Apache-2.0
// The options of `orrery network`.
#pragma once

#include <vector>

#include "scenarios/program/network.h"

namespace orrery {

std::vector<CommandOption> network_options(NetworkArguments& arguments);

}  // namespace orrery
