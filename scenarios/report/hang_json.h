// SPDX-License-Identifier: Apache-2.0
// Which rank waits for which in a step that a loss stopped, as a JSON object.
#pragma once

#include <string>

#include "scenarios/studies/simulate/answer.h"

namespace orrery {

std::string hang_json(const StepHang& hang);

}  // namespace orrery
