// SPDX-License-Identifier: Apache-2.0
// Many seeds of a campaign, and what they have in common. Results are in the order of the seeds,
// whatever the number of threads, and sums are taken in that order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/campaign/campaign.h"

namespace orrery {

// Statistics of one number over the seeds.
struct Statistic {
    double mean = 0;
    double deviation = 0;  // standard deviation of one run
    double low = 0;        // 95 % confidence interval of the mean
    double high = 0;
    double p5 = 0;  // of runs, by nearest rank
    double p50 = 0;
    double p95 = 0;
};

Statistic statistic(std::vector<double> values);
// Statistics of the differences, run by run: what common random numbers are for.
Statistic paired_difference(const std::vector<double>& a, const std::vector<double>& b);

// Seeds first_seed, first_seed + 1 ...; the timeline and the log of the first only.
std::vector<CampaignResult> run_seeds(const CampaignSpec& spec,
                                      std::uint64_t first_seed,
                                      std::uint32_t seeds,
                                      std::uint32_t threads,
                                      const CampaignOptions& of_first = {});

// One-hour sliding ETTR of a run with a timeline: the smallest value, and quantiles of it sampled
// every minute.
struct SlidingEttr {
    double least = 1;
    double p5 = 1;
    double p50 = 1;
};
SlidingEttr sliding_ettr(const CampaignResult& run, WallTime window);
// ETTR of each of `parts` equal parts of a run with a timeline.
std::vector<double> ettr_by_part(const CampaignResult& run, std::uint32_t parts);

}  // namespace orrery
