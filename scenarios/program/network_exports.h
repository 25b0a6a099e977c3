// SPDX-License-Identifier: Apache-2.0
// `orrery network --export-…`: the network for other tools, and factors of congestion controls.
#pragma once

#include "engine/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/program/network.h"

namespace orrery {

// The files for NCCL and SimGrid that the arguments name.
Result<void> write_exports(const NetworkArguments& arguments, const Scenario& scenario);

// Measures and keeps factors, in place of one pattern. Returns the exit status.
int export_congestion(const NetworkArguments& arguments, const Scenario& scenario);

}  // namespace orrery
