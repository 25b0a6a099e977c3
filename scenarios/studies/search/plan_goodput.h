// SPDX-License-Identifier: Apache-2.0
// The goodput of a plan with a given step time: that of a campaign with the scenario's faults and
// its first recovery plan, over at most `seeds` runs.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// The scenario whose step a search for this objective simulates. For goodput it is a step without
// faults, because the campaign counts all faults, including those from the start.
Scenario with_faults_of_step(Scenario scenario, Objective objective);

// 0 (exclusive) to 1. `step`: without faults.
Result<double> plan_goodput(Scenario scenario, Time step, std::uint32_t seeds);

}  // namespace orrery
