// SPDX-License-Identifier: Apache-2.0
// The weights that an optimizer op steps. One that runs on the host (plan.optimizer_cpu_offload)
// works on vectors in its memory, in which the rank's parts of all weights lie one after the other;
// the copy behind it says which weights.
#pragma once

#include <vector>

#include "engine/program/program.h"

namespace orrery {

// In the order of their state.
std::vector<TensorId> stepped_weights(const Program& program,
                                      const Segment& segment,
                                      const Op& optimizer);

// Where the state persists that the op works on: the same tensor, or the part of a file that was
// read into it last.
TensorId stepped_state(const Program& program, const Segment& segment, const Op& optimizer);

}  // namespace orrery
