// SPDX-License-Identifier: Apache-2.0
// Rules of a plan for sequences longer than memory: tiles, and layer inputs in host memory.
#pragma once

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// Each error names a key.
Errors check_long_context(const Transformer& model, const ParallelPlan& plan);

}  // namespace orrery
