// SPDX-License-Identifier: Apache-2.0
// Rules of plans for models with experts or with latent attention.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// A part of check() (models/plan/validate_plan.h). It assumes that the ranges of all other keys
// have been checked.
Errors check_experts(const Transformer& model, const ParallelPlan& plan, std::int64_t num_gpus);

}  // namespace orrery
