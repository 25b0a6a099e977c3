// SPDX-License-Identifier: Apache-2.0
// The rules of a plan for sequences longer than memory: tiles, and inputs in host memory.
#pragma once

#include "engine/result.h"
#include "models/plan.h"
#include "models/transformer.h"

namespace orrery {

// Each error names a key.
Errors check_long_context(const Transformer& model, const ParallelPlan& plan);

}  // namespace orrery
