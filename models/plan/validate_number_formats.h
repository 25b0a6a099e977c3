// SPDX-License-Identifier: Apache-2.0
// Rules of the types of a plan's numbers: those of passes, gradients and the optimizer's state.
#pragma once

#include "engine/base/result.h"
#include "models/plan/plan.h"

namespace orrery {

Errors check_number_formats(const ParallelPlan& plan);

}  // namespace orrery
