// SPDX-License-Identifier: Apache-2.0
// A campaign over many seeds, and its statistics. Results are in the order of the seeds for any
// number of threads, and sums are taken in that order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/campaign/campaign.h"

namespace orrery {

// Statistics of one quantity over the seeds.
struct Statistic {
    double mean = 0;
    double deviation = 0;  // standard deviation of one run
    double low = 0;        // 95 % confidence interval of the mean
    double high = 0;
    double p5 = 0;  // percentiles of runs, by nearest rank
    double p50 = 0;
    double p95 = 0;
};

Statistic statistic(std::vector<double> values);
// Statistics of the differences per run. With common random numbers they vary less than the runs.
Statistic paired_difference(const std::vector<double>& a, const std::vector<double>& b);

// Runs seeds first_seed, first_seed + 1 …; only the first has a timeline and a log.
std::vector<CampaignResult> run_seeds(const CampaignSpec& spec,
                                      std::uint64_t first_seed,
                                      std::uint32_t seeds,
                                      std::uint32_t threads,
                                      const CampaignOptions& of_first = {});

// The ETTR in a sliding window over a run with a timeline: its least value, and quantiles sampled
// every minute.
struct SlidingEttr {
    double least = 1;
    double p5 = 1;
    double p50 = 1;
};
SlidingEttr sliding_ettr(const CampaignResult& run, WallTime window);
// The ETTR of each of `parts` equal parts of a run with a timeline.
std::vector<double> ettr_by_part(const CampaignResult& run, std::uint32_t parts);

}  // namespace orrery
