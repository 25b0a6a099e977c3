// SPDX-License-Identifier: Apache-2.0
// Rules of a plan whose optimizer state, weights or gradients lie in the host's memory or on its
// drives.
#pragma once

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// Each error names a key.
Errors check_offload(const Transformer& model, const ParallelPlan& plan);

}  // namespace orrery
