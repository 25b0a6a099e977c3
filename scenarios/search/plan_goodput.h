// SPDX-License-Identifier: Apache-2.0
// What the scenario's faults and its first recovery plan leave of the time, for a plan whose step
// takes so long: the campaign's goodput, over at most `seeds` runs.
#pragma once

#include <cstdint>

#include "engine/result.h"
#include "scenarios/scenario.h"

namespace orrery {

// 0 (exclusive) to 1.
Result<double> plan_goodput(Scenario scenario, Time step, std::uint32_t seeds);

}  // namespace orrery
