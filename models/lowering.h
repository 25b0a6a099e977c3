// SPDX-License-Identifier: Apache-2.0
// (model, plan) -> Program: what every rank does in one training step. Nothing here knows who will
// run it. The plan must have passed validate_plan.h.
#pragma once

#include "engine/program.h"
#include "models/plan.h"
#include "models/transformer.h"

namespace orrery {

Program lower(const Transformer& model, const ParallelPlan& plan);

}  // namespace orrery
