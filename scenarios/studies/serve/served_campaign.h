// SPDX-License-Identifier: Apache-2.0
// A served load again and again, each time with requests and faults of its own, and the same
// requests without faults.
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

// `campaign.seeds` runs. `jobs`: at a time.
ResultOrErrors<ServedCampaign> run_served_campaign(const Scenario& scenario,
                                                   std::uint32_t jobs,
                                                   const std::function<void(double)>& progress);

}  // namespace orrery
