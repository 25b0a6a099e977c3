// SPDX-License-Identifier: Apache-2.0
// The best instances for a served load on a cluster: their sizes and numbers, with prompts and
// generation in common or separate pools (DistServe's placement; Zhong et al., OSDI 2024, section
// 4). The simulator serves the load with every candidate at growing rates until it misses the
// objectives.
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
    std::int64_t gpus = 0;  // number of GPUs of the instances
    double rate = 0;  // the largest rate within the objectives, in requests a second (within 3 %)
    ServingAnswer answer;  // at that rate
    // The minimised quantity: 1 / rate, or the cost or energy of a million tokens.
    double score = 0;
};

struct PoolSearchResult {
    std::vector<FoundPools> best;  // at least one; the best first
    std::int64_t tried = 0;
    // Candidates that miss an objective at the rate of the last entry of `best`
    std::int64_t worse = 0;
    std::int64_t unfit = 0;  // candidates that do not fit, or miss an objective at every rate
    std::string why_unfit;   // reason of the first unfit candidate
};

// `jobs`: threads; 0: one a core. The answer does not depend on it. `progress` is called with the
// finished share of the candidates. An Error if the load has no objectives or no rate, or if no
// pools meet the objectives.
Result<PoolSearchResult> search_pools(const Scenario& scenario,
                                      const std::vector<Request>& requests,
                                      std::uint32_t jobs,
                                      const std::function<void(double)>& progress);

}  // namespace orrery
