// SPDX-License-Identifier: Apache-2.0
// The steps that a campaign is made of: the healthy one, one with a slow node, one without a
// data-parallel unit. Each is a simulation of its own (simulate_scenario.h), made once.
#pragma once

#include <functional>

#include "engine/base/result.h"
#include "engine/campaign/campaign.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

// How a plan lies on the nodes: which of them go down together, and which can stand in.
JobShape job_shape(const Scenario& scenario);

struct DegradedSteps {
    StepSpeed speed;
    bool simulated = false;
    double mfu = 0;           // of the healthy step, full attention; 0 if it was not simulated
    double exposed = 0;       // share of the step in which network communication is not hidden
    double network_busy = 0;  // mean use of the NICs
};

struct DegradedStepsOptions {
    bool slow = false;    // a node may become slow
    bool shrunk = false;  // a unit may be left out
    std::function<void(double)> progress;
};

Result<DegradedSteps> degraded_steps(const Scenario& scenario, const DegradedStepsOptions& options);

}  // namespace orrery
