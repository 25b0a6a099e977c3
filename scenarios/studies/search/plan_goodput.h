// SPDX-License-Identifier: Apache-2.0
// What the scenario's faults and its first recovery plan leave of the time, for a plan whose step
// takes so long: the campaign's goodput, over at most `seeds` runs.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// The scenario whose step a search for this objective simulates. By goodput that is a step without
// faults: the campaign counts all of them, standing ones as well.
Scenario with_faults_of_step(Scenario scenario, Objective objective);

// 0 (exclusive) to 1. `step`: without faults.
Result<double> plan_goodput(Scenario scenario, Time step, std::uint32_t seeds);

}  // namespace orrery
