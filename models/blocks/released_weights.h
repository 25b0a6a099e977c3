// SPDX-License-Identifier: Apache-2.0
// The weights that ZeRO 3 frees between a product that runs again and its backward pass. DeepSpeed
// frees a parameter if modules with plan.stage3_max_reuse_distance elements or more are used before
// its next use (deepspeed/runtime/zero/partitioned_param_coordinator.py, __params_to_release). A
// layer that runs again uses its parameters in order and its backward pass in the opposite order,
// so that between the two uses of a parameter all later parameters are used twice.
#pragma once

#include <vector>

#include "models/segments/block_builder.h"

namespace orrery {

// `layer`: the parameters of one layer, in the order in which a forward pass uses them.
std::vector<Parameter*> released_before_backward(const ParallelPlan& plan,
                                                 const std::vector<Parameter*>& layer);

}  // namespace orrery
