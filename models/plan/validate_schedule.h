// SPDX-License-Identifier: Apache-2.0
// Rules of schedules, of what stages keep of their outputs, and of multi-token prediction modules.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// The errors of a plan whose sizes and batch are valid (models/plan/validate_plan.h).
Errors check_schedule(const Transformer& model, const ParallelPlan& plan, std::int64_t num_gpus);

}  // namespace orrery
