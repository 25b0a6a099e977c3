// SPDX-License-Identifier: Apache-2.0
// Repeated runs of a served load, each with its own requests and faults, and the same requests
// without faults.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

struct ServedCampaign {
    struct Run {
        std::uint64_t seed = 0;
        ServingAnswer answer;
        ServingAnswer without_faults;
    };
    std::vector<Run> runs;
};

// Runs `campaign.seeds` runs. `jobs` of them run at the same time.
ResultOrErrors<ServedCampaign> run_served_campaign(const Scenario& scenario,
                                                   std::uint32_t jobs,
                                                   const std::function<void(double)>& progress);

}  // namespace orrery
