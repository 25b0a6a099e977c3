// SPDX-License-Identifier: Apache-2.0
// Simulating again with one cause of lost time at zero: the test of the waterfall's attribution.
#pragma once

#include "engine/program.h"
#include "engine/simulation.h"

namespace orrery {

// Communication of this cause becomes host work of no duration (same streams, same waits). Other
// causes leave the program as it is.
void remove_communication(Program& program, Cause cause);

// Gives the kernels of this cause table entries of their own, so that changing their time changes
// no other op's. Before timings are made.
void isolate_kernels(Program& program, Cause cause);

// Kernels of this cause take their ideal time; those whose work the MFU does not count take none.
void remove_kernel_time(const Program& program, Cause cause, DeviceTimings& timings);

}  // namespace orrery
