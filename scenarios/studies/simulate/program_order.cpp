// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/program_order.h"

namespace orrery {

bool runs_in_program_order(const DeviceSpec& device) {
    return device.generation == "cpu";
}

}  // namespace orrery
