// SPDX-License-Identifier: Apache-2.0
// (model, plan) -> Program: what every rank does in one training step. Nothing here knows who will
// run it. The plan must have passed validate_plan.h.
#pragma once

#include <vector>

#include "engine/program/program.h"
#include "models/plan/plan.h"
#include "models/plan/routed_tensor.h"
#include "models/transformer/transformer.h"

namespace orrery {

Program lower(const Transformer& model, const ParallelPlan& plan);
// The same. `routed`: its tensors whose rows routers decide.
Program lower(const Transformer& model,
              const ParallelPlan& plan,
              std::vector<RoutedTensor>& routed);

}  // namespace orrery
