// SPDX-License-Identifier: Apache-2.0
// `orrery profile -o FILE`: measures this machine (scenarios/studies/measure/machine_profiler.h).
#pragma once

#include "scenarios/program/views.h"
#include "scenarios/studies/measure/machine_profiler.h"

namespace orrery {

struct ProfileArguments : ViewArguments {
    ProfileSpec spec;
};

// Returns the exit status.
int profile_command(const ProfileArguments& arguments);

}  // namespace orrery
