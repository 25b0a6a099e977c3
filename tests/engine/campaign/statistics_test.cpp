// SPDX-License-Identifier: Apache-2.0
#include "engine/campaign/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace {

TEST(Statistic, IsTheTextbooks) {
    const Statistic s = statistic({2, 4, 4, 4, 5, 5, 7, 9});
    EXPECT_DOUBLE_EQ(s.mean, 5);
    EXPECT_NEAR(s.deviation, 2.13809, 1e-5);
    EXPECT_NEAR(s.high - s.mean, 2.36462 * 2.13809 / std::sqrt(8), 2e-3);  // t(7), 97.5 %
    EXPECT_EQ(s.p50, 4);
    EXPECT_EQ(s.p5, 2);
    EXPECT_EQ(s.p95, 9);
    EXPECT_EQ(statistic({3}).low, 3);
}

TEST(Statistic, DifferencesArePaired) {
    const Statistic s = paired_difference({10, 20, 30}, {9, 19, 29});
    EXPECT_DOUBLE_EQ(s.mean, 1);
    EXPECT_DOUBLE_EQ(s.deviation, 0);
}

CampaignSpec failing_node() {
    CampaignSpec spec;
    spec.cluster.nodes = 2;
    spec.job = {.slots = 1};
    spec.horizon = WallTime::days(10);
    spec.faults = {{.name = "crash",
                    .kind = FaultKind::node_crash,
                    .at = {Scope::node, kEvery},
                    .interval = {DistributionKind::exponential, WallTime::hours(9)}}};
    spec.checkpoint = {.interval = WallTime::hours(1)};
    spec.costs.restart_full = WallTime::seconds(600);
    spec.policies = {HotSpares{}};
    return spec;
}

TEST(RunSeeds, GivesTheSameOnAnyNumberOfThreads) {
    const CampaignSpec spec = failing_node();
    const auto one = run_seeds(spec, 5, 12, 1);
    const auto many = run_seeds(spec, 5, 12, 4);
    for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_EQ(one[i].seed, 5 + i);
        EXPECT_EQ(one[i].work_us, many[i].work_us);
        EXPECT_EQ(one[i].interruptions, many[i].interruptions);
    }
}

TEST(SlidingEttr, CoversTheRunAndFindsItsWorstHour) {
    const auto runs = run_seeds(failing_node(), 1, 1, 1, {.timeline = true});
    const std::vector<double> parts = ettr_by_part(runs[0], 10);
    double sum = 0;
    for (const double part : parts) {
        sum += part / 10;
    }
    EXPECT_NEAR(sum, runs[0].ettr(), 1e-9);
    const SlidingEttr sliding = sliding_ettr(runs[0], WallTime::hours(1));
    EXPECT_LE(sliding.least, sliding.p5);
    EXPECT_LE(sliding.p5, sliding.p50);
    EXPECT_LE(sliding.p50, 1);
    EXPECT_GE(sliding.least, 0);
}

}  // namespace
}  // namespace orrery
