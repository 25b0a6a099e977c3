// SPDX-License-Identifier: Apache-2.0
// Faults during a simulated step (`faults:` with `time:`) in the engine's form: devices that
// change, and links that lose capacity or fail.
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

// `begin` is the beginning of the affected step in the simulation's time. Ranks that a fault
// distinguishes get classes of their own in `classes`.
Result<StepEvents> step_events(const Scenario& scenario,
                               const Fabric& fabric,
                               Time begin,
                               DeviceClasses& classes);

// The waits between ranks since the beginning of the step.
StepHang hang_of(const Hang& hang, Time begin, const Scenario& scenario);

// The faults as events of a campaign, with their places, for reports.
std::vector<FaultEvent> places_of(const std::vector<StepFault>& faults, const Scenario& scenario);
std::vector<std::string> fault_lines(const std::vector<StepFault>& faults,
                                     const Scenario& scenario);

}  // namespace orrery
