// SPDX-License-Identifier: Apache-2.0
// From a scenario to a campaign's answer: simulates the steps that it needs, works out what
// checkpoints and restarts take, and runs every recovery plan over the same seeds.
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
    std::function<void(double)> progress{};  // of the steps' simulation
};

// The engine's campaign of one plan; an empty plan list of the scenario is the default plan.
CampaignSpec campaign_spec(const Scenario& scenario,
                           const RecoveryPlan& plan,
                           const DegradedSteps& steps);
// Faults a second that stop the job, expected.
double expected_rate(const Scenario& scenario);

Result<CampaignAnswer> run_campaign_scenario(const Scenario& scenario,
                                             const CampaignRunOptions& options = {});

}  // namespace orrery
