// SPDX-License-Identifier: Apache-2.0
// Faults in the middle of a simulated step (`faults:` with `time:`), as the engine takes them:
// devices that change, links that lose capacity or are out of order.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/world/simulation.h"
#include "engine/world/step_events.h"
#include "network/fabric/fabric.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"
#include "scenarios/studies/simulate/step_faults.h"

namespace orrery {

// `begin` of the step that they strike, in the simulation's time. Ranks that a fault tells apart
// get classes of their own in `classes`.
Result<StepEvents> step_events(const Scenario& scenario,
                               const Fabric& fabric,
                               Time begin,
                               DeviceClasses& classes);

// Who waits for whom since the step's begin.
StepHang hang_of(const Hang& hang, Time begin, const Scenario& scenario);

// As events of a campaign, for reports: where they stand.
std::vector<FaultEvent> places_of(const std::vector<StepFault>& faults, const Scenario& scenario);
std::vector<std::string> fault_lines(const std::vector<StepFault>& faults,
                                     const Scenario& scenario);

}  // namespace orrery
