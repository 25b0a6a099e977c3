// SPDX-License-Identifier: Apache-2.0
// `orrery serve --real FILE`: a model decodes on this machine, and the workload is replayed.
#pragma once

#include "scenarios/format/specs/scenario.h"
#include "scenarios/program/serve.h"

namespace orrery {

// Returns the exit status.
int serve_for_real_command(const ServeArguments& arguments, const Scenario& scenario);

}  // namespace orrery
