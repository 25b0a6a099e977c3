// SPDX-License-Identifier: Apache-2.0
// Which plans a model with experts, or with latent attention, can have.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// Part of check() (models/plan/validate_plan.h), after the ranges of all other keys.
Errors check_experts(const Transformer& model, const ParallelPlan& plan, std::int64_t num_gpus);

}  // namespace orrery
