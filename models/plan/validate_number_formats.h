// SPDX-License-Identifier: Apache-2.0
// Rules of the types of a plan's numbers: those of passes, gradients and the optimizer's state.
#pragma once

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

Errors check_number_formats(const ParallelPlan& plan);
// Rules of plan.activation_func_fp8_input_store.
Errors check_fp8_inputs(const Transformer& model, const ParallelPlan& plan);

}  // namespace orrery
