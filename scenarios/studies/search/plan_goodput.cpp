// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/plan_goodput.h"

#include <algorithm>

#include "scenarios/format/specs/cluster_shape.h"
#include "scenarios/studies/campaign/run_campaign.h"

namespace orrery {

Scenario with_faults_of_step(Scenario scenario, Objective objective) {
    if (objective == Objective::goodput) {
        scenario.faults = {};
    }
    return scenario;
}

Result<double> plan_goodput(Scenario scenario, Time step, std::uint32_t seeds) {
    scenario.campaign.step_time = WallTime::seconds(step.seconds());
    scenario.campaign.seeds = std::min(scenario.campaign.seeds, seeds);
    scenario.campaign.shape = cluster_shape(scenario.cluster, scenario.campaign);
    scenario.recovery.resize(std::min<std::size_t>(1, scenario.recovery.size()));
    const Result<CampaignAnswer> campaign = run_campaign_scenario(scenario);
    if (!campaign) {
        return tl::unexpected(campaign.error());
    }
    // A job without progress is worse than any other job.
    return std::clamp(campaign->plans.front().goodput.mean, 1e-6, 1.0);
}

}  // namespace orrery
