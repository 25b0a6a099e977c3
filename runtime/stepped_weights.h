// SPDX-License-Identifier: Apache-2.0
// The weights that an optimizer op updates. An optimizer on the host (plan.optimizer_cpu_offload)
// works on vectors in host memory with the rank's parts of all weights, one after the other. The
// copy op that follows names the weights.
#pragma once

#include <vector>

#include "engine/program/program.h"

namespace orrery {

// In the order of their state.
std::vector<TensorId> stepped_weights(const Program& program,
                                      const Segment& segment,
                                      const Op& optimizer);

// The persistent tensor of the op's state: the same tensor, or the part of a file that was last
// read into it.
TensorId stepped_state(const Program& program, const Segment& segment, const Op& optimizer);

}  // namespace orrery
