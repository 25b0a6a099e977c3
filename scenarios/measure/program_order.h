// SPDX-License-Identifier: Apache-2.0
// How a device without streams runs a Program: one op after the other in program order, the host's
// work on each in between. Only messages that are sent do not hold it up: they go on their own
// (runtime/cpu/cpu_executor.h does just that).
#pragma once

#include "engine/ids.h"
#include "engine/program.h"
#include "kernels/device_spec.h"

namespace orrery {

bool runs_in_program_order(const DeviceSpec& device);

// Puts all ops but messages that are only sent on one stream.
void put_in_program_order(Program& program);

}  // namespace orrery
