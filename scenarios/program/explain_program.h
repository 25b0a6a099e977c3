// SPDX-License-Identifier: Apache-2.0
// `orrery explain --program` and `--layouts`: what the GPUs do in a step, and how its tensors lie.
#pragma once

#include "scenarios/program/explain.h"

namespace orrery {

// Returns the exit status.
int explain_program(const ExplainArguments& arguments);

}  // namespace orrery
