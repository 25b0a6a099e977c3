// SPDX-License-Identifier: Apache-2.0
// Devices that run a Program without streams: one op after the other in program order, with the
// host's work on each between them (SimulationInput::in_program_order). Only sent messages do not
// block the next op (runtime/cpu/cpu_executor.h).
#pragma once

#include "kernels/device_spec.h"

namespace orrery {

bool runs_in_program_order(const DeviceSpec& device);

}  // namespace orrery
