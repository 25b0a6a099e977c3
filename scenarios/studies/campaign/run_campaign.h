// SPDX-License-Identifier: Apache-2.0
// From a scenario to a campaign's answer: simulates the required steps, computes the times of
// checkpoints and restarts, and runs every recovery plan with the same seeds.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/campaign/campaign_answer.h"
#include "scenarios/studies/simulate/degraded_steps.h"

namespace orrery {

struct CampaignRunOptions {
    std::uint32_t threads = 1;
    std::function<void(double)> progress{};  // of the simulation of steps
};

// The engine's campaign for one plan. A scenario without plans has the default plan.
CampaignSpec campaign_spec(const Scenario& scenario,
                           const RecoveryPlan& plan,
                           const DegradedSteps& steps);
// The expected number of faults a second that stop the job.
double expected_rate(const Scenario& scenario);

Result<CampaignAnswer> run_campaign_scenario(const Scenario& scenario,
                                             const CampaignRunOptions& options = {});

}  // namespace orrery
