// SPDX-License-Identifier: Apache-2.0
// Rules of a plan for the kernels of attention and the number format of its products.
#pragma once

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// Each error names a key. `shared`: ranks share a sequence (context parallelism).
Errors check_attention(const Transformer& model, const ParallelPlan& plan, bool shared);

}  // namespace orrery
