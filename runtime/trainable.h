// SPDX-License-Identifier: Apache-2.0
// The models and plans that the real executor supports; the simulator supports more.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// Error::where is the key ("plan.precision"), as in models/plan/validate_plan.h.
Errors check_trainable(const Transformer& model, const ParallelPlan& plan, std::int64_t num_ranks);

// Whether the job can train on GPUs.
Result<void> check_gpu_job(const Transformer& model, const ParallelPlan& plan);

// Whether this number of ranks can train on CPUs.
Result<void> check_cpu_ranks(std::int64_t num_ranks);

}  // namespace orrery
