// SPDX-License-Identifier: Apache-2.0
// (model, plan) -> Program: the work of every rank in one training step. The Program is the same
// for both executors. The plan must have passed check() (models/plan/validate_plan.h).
#pragma once

#include <vector>

#include "engine/program/program.h"
#include "models/plan/plan.h"
#include "models/plan/routed_tensor.h"
#include "models/transformer/transformer.h"

namespace orrery {

Program lower(const Transformer& model, const ParallelPlan& plan);
// The same. `routed` gets the tensors whose number of rows depends on a router.
Program lower(const Transformer& model,
              const ParallelPlan& plan,
              std::vector<RoutedTensor>& routed);

}  // namespace orrery
