// SPDX-License-Identifier: Apache-2.0
// The options of `orrery sweep`.
#pragma once

#include <vector>

#include "scenarios/program/sweep.h"

namespace orrery {

std::vector<CommandOption> sweep_options(SweepArguments& arguments);

}  // namespace orrery
