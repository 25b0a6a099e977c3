// SPDX-License-Identifier: Apache-2.0
// Which devices run a Program without streams: one op after the other in program order, the host's
// work on each in between (SimulationInput::in_program_order). Only messages that are sent do not
// hold it up (runtime/cpu/cpu_executor.h).
#pragma once

#include "kernels/device_spec.h"

namespace orrery {

bool runs_in_program_order(const DeviceSpec& device);

}  // namespace orrery
