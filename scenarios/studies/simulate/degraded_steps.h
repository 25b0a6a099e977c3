// SPDX-License-Identifier: Apache-2.0
// The steps of a campaign: the healthy one, one with a slow node, one without a data-parallel unit.
// Each is simulated separately and once (simulate_scenario.h).
#pragma once

#include <functional>

#include "engine/base/result.h"
#include "engine/campaign/campaign.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

// The placement of a plan on nodes: the nodes that go down together, and the nodes that can replace
// others.
JobShape job_shape(const Scenario& scenario);

struct DegradedSteps {
    StepSpeed speed;
    bool simulated = false;
    double mfu = 0;           // of the healthy step, full attention; 0 if it was not simulated
    double exposed = 0;       // share of the step in which network communication is exposed
    double network_busy = 0;  // mean use of the NICs
};

struct DegradedStepsOptions {
    bool slow = false;    // a node may become slow
    bool shrunk = false;  // a data-parallel unit may be left out
    std::function<void(double)> progress;
};

Result<DegradedSteps> degraded_steps(const Scenario& scenario, const DegradedStepsOptions& options);

}  // namespace orrery
