// SPDX-License-Identifier: Apache-2.0
// The best instances for a served load on a cluster: their sizes, prompts and generation together
// or apart, and how many of each (DistServe's placement; Zhong et al., OSDI 2024, section 4). Every
// candidate is served by the simulator at growing rates until it misses the load's objectives.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

struct FoundPools {
    std::vector<ServingPoolSpec> pools;
    std::int64_t gpus = 0;  // that the instances take
    double rate = 0;        // requests a second, the largest within the objectives (3 %)
    ServingAnswer answer;   // at that rate
    // What the objective minimises: 1 / rate, or the cost or energy of a million tokens.
    double score = 0;
};

struct PoolSearchResult {
    std::vector<FoundPools> best;  // at least one; the best first
    std::int64_t tried = 0;
    std::int64_t worse = 0;  // of these: they miss an objective at the rate of the worst in `best`
    std::int64_t unfit = 0;  // of these: they don't fit, or miss an objective at every rate
    std::string why_unfit;   // of the first of these
};

// `jobs`: threads, 0: one a core; the answer does not depend on it. `progress` hears the share of
// the first candidates that are done. An Error if the load has no objectives or no rate, or if no
// pools meet them.
Result<PoolSearchResult> search_pools(const Scenario& scenario,
                                      const std::vector<Request>& requests,
                                      std::uint32_t jobs,
                                      const std::function<void(double)>& progress);

}  // namespace orrery
