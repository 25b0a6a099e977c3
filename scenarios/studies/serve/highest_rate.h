// SPDX-License-Identifier: Apache-2.0
// The largest Poisson rate at which a served load meets its objectives. MLPerf's server scenario
// publishes this rate, and it is the goodput of DistServe (Zhong et al., OSDI 2024, section 2).
#pragma once

#include <optional>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

struct HighestRate {
    double rate = 0;       // requests a second
    ServingAnswer answer;  // at that rate
};

// Number of bisections between two rates, of which the larger is 1.25 times the smaller: within 3
// %.
inline constexpr int kRateBisections = 3;
inline constexpr double kMostShare = 100;

// The objectives are met if 99 of 100 requests are below each of them, and all slowdowns are below
// theirs. `requests` arrive at the workload's request_rate, which must be above zero; other rates
// stretch their arrivals. The result is at most a factor 1.25^(1/2^bisections) below the largest
// rate, and at most `most` times the stated rate. It is an Error if a hundredth of the stated rate
// misses an objective, or a larger one at which the load would last longer than kLongestLoad_s.
// `at_stated_rate` is the answer at the stated rate, if known; its slowdowns are not used.
Result<HighestRate> find_highest_rate(const Scenario& scenario,
                                      const ServingSpec& spec,
                                      const std::vector<Request>& requests,
                                      const ServingObjectives& objectives,
                                      int bisections = kRateBisections,
                                      double most = kMostShare,
                                      const ServingAnswer* at_stated_rate = nullptr);

// The same if the objectives are met at `rate`, which must be above zero. Otherwise empty, after
// one run.
Result<std::optional<HighestRate>> find_higher_rate(const Scenario& scenario,
                                                    const ServingSpec& spec,
                                                    const std::vector<Request>& requests,
                                                    const ServingObjectives& objectives,
                                                    double rate);

}  // namespace orrery
