// SPDX-License-Identifier: Apache-2.0
// `orrery profile -o FILE`: measures this machine (scenarios/studies/measure/machine_profiler.h).
#pragma once

#include "scenarios/program/command.h"
#include "scenarios/studies/measure/machine_profiler.h"

namespace orrery {

// Returns the exit status.
int profile_command(const ProfileSpec& spec, bool json = false);
Command describe_profile();

}  // namespace orrery
