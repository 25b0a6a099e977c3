// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/served_campaign.h"

#include <utility>

#include "engine/base/parallel.h"

namespace orrery {

namespace {

ResultOrErrors<ServedCampaign::Run> served_run(Scenario scenario, std::uint64_t number) {
    scenario.serving.seed += number;
    scenario.workload.seed += number;
    const auto requests = requests_of(scenario);
    if (!requests) {
        return unexpected<Errors>(requests.error());
    }
    const ServingLoad load{.users = scenario.workload.users};
    auto answer = serve_scenario(scenario, scenario.serving, *requests, load);
    if (!answer) {
        return unexpected<Errors>(Errors{answer.error()});
    }
    scenario.faults.processes.clear();
    auto quiet = serve_scenario(scenario, scenario.serving, *requests, load);
    if (!quiet) {
        return unexpected<Errors>(Errors{quiet.error()});
    }
    return ServedCampaign::Run{.seed = scenario.serving.seed,
                               .answer = std::move(*answer),
                               .without_faults = std::move(*quiet)};
}

}  // namespace

ResultOrErrors<ServedCampaign> run_served_campaign(const Scenario& scenario,
                                                   std::uint32_t jobs,
                                                   const std::function<void(double)>& progress) {
    const auto count = static_cast<std::size_t>(scenario.campaign.seeds);
    std::vector<ResultOrErrors<ServedCampaign::Run>> runs(count);
    for_each_index(
        count,
        jobs,
        [&](std::size_t i) { runs[i] = served_run(scenario, i); },
        [&](std::size_t done) {
            if (progress) {
                progress(static_cast<double>(done) / static_cast<double>(count));
            }
        });
    ServedCampaign campaign;
    for (auto& run : runs) {
        if (!run) {
            return unexpected<Errors>(run.error());
        }
        campaign.runs.push_back(std::move(*run));
    }
    return campaign;
}

}  // namespace orrery
