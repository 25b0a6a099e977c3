// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/closed_forms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/recovery/golden_intervals.h"
#include "tests/engine/recovery/published_forms.h"

namespace orrery {
namespace {

// V1
TEST(SegmentTime, IsTheClosedForm) {
    for (const GoldenSegment& g : kGoldenSegments) {
        EXPECT_NEAR(segment_time_s(g.mtbf, g.checkpoint, g.restart, g.interval), g.time, 1e-4);
    }
}

// V2
TEST(CheckpointIntervals, AreYoungsDalysAndTheOptimum) {
    for (const GoldenOptimum& c : kGoldenOptima) {
        EXPECT_NEAR(young_interval_s(c.mtbf, c.checkpoint), c.young, 0.006);
        EXPECT_NEAR(daly_interval_s(c.mtbf, c.checkpoint), c.daly, 0.0006);
        const double best = optimal_interval_s(c.mtbf, c.checkpoint);
        EXPECT_NEAR(best, c.exact, 0.0006);
        const auto efficiency = [&](double interval) {
            return interval / segment_time_s(c.mtbf, c.checkpoint, c.restart, interval);
        };
        EXPECT_NEAR(efficiency(best), c.efficiency, 6e-7);
        EXPECT_GE(efficiency(best), efficiency(best * 1.001));
        EXPECT_GE(efficiency(best), efficiency(best * 0.999));
    }
}

TEST(CheckpointIntervals, DalyGivesTheMtbfWhenCheckpointsTakeLongerThanTwice) {
    EXPECT_EQ(daly_interval_s(100, 250), 100);
    EXPECT_GT(optimal_interval_s(100, 250), 0);
}

// V3
TEST(ErlangB, IsTheShareOfTimeWithoutEnoughSpares) {
    EXPECT_NEAR(erlang_b(2048 * 3.79e-3 * 1.0, 17), 0.001614, 6e-7);
    EXPECT_NEAR(erlang_b(2048 * 3.79e-3 * 2.0, 21), 0.039124, 6e-7);
    EXPECT_NEAR(erlang_b(1536 * 4.184e-3 * 5.535, 33), 0.168586, 6e-7);
    EXPECT_NEAR(erlang_b(1536 * 4.184e-3 * 5.535, 65), 0.000003, 6e-7);
}

TEST(ErlangB, IsTheBirthDeathChainWithACrewForEverybody) {
    for (const double load : {0.5, 7.762, 20.0}) {
        EXPECT_NEAR(stall_share(load, 17, 17), erlang_b(load, 17), 1e-12);
        EXPECT_GT(stall_share(load, 17, 3), erlang_b(load, 17));
    }
}

// V4
TEST(BinomialQuantile, SizesSpares) {
    EXPECT_EQ(binomial_quantile(1536, 6.5e-3, 0.99), 18u);
    EXPECT_EQ(binomial_quantile(1536, 6.5e-3, 0.999), 21u);
    EXPECT_EQ(binomial_quantile(1536, 2.34e-3, 0.99), 9u);
    EXPECT_EQ(binomial_quantile(1536, 2.34e-3, 0.999), 11u);
    EXPECT_EQ(binomial_quantile(2048, 3.79e-3, 0.99), 15u);
    EXPECT_EQ(binomial_quantile(2048, 3.79e-3, 0.999), 18u);
}

// V5
TEST(GroupSurvival, IsGeminis) {
    EXPECT_NEAR(group_survival(16, 2, 2), 14.0 / 15, 1e-9);
    EXPECT_NEAR(group_survival(16, 2, 3), 4.0 / 5, 1e-9);
    EXPECT_NEAR(group_survival(16, 2, 4), 8.0 / 13, 1e-9);
    EXPECT_NEAR(group_survival(32, 2, 2), 30.0 / 31, 1e-9);
    EXPECT_NEAR(group_survival(16, 4, 4), 0.997802, 6e-7);
}

// S2: the first order as published, to the last digit of another way to write it.
TEST(Ettr, OfTheFirstOrderAndExact) {
    struct Case {
        double gpus, rate, restart_min, interval_min, first_order, exact;
    };
    for (const Case& c : {Case{16000, 6.5e-3, 5, 60, 0.6840, 0.7202},
                          Case{16000, 6.5e-3, 5, 5, 0.9323, 0.9345},
                          Case{16384, 6.5e-3, 5, 5, 0.9307, 0.9329},
                          Case{2048, 6.5e-3, 5, 60, 0.9596, 0.9602},
                          Case{4096, 6.5e-3, 5, 60, 0.9191, 0.9216},
                          Case{4096, 6.5e-3, 20, 60, 0.8844, 0.8902},
                          Case{100000, 2.34e-3, 2, 2, 0.9391, 0.9408},
                          Case{100000, 6.5e-3, 2, 2, 0.8307, 0.8438}}) {
        const double mtbf = 86400 / (c.gpus / 8 * c.rate);
        const double u = c.restart_min * 60;
        const double dt = c.interval_min * 60;
        EXPECT_NEAR(first_order_ettr(mtbf, u, dt, 0), c.first_order, 5.1e-5);
        const double failures = c.gpus / 8 * c.rate / 86400 * (u + dt / 2);
        EXPECT_NEAR(first_order_ettr(mtbf, u, dt, 30), (1 - failures) * dt / (dt + 30), 1e-12);
        EXPECT_NEAR(dt / segment_time_s(mtbf, 0, u, dt), c.exact, 5.1e-5);
    }
}

// V8, V9
TEST(Stragglers, TheSlowestOfManyIsSlow) {
    EXPECT_NEAR(straggler_factor(1.1, 0.005, 16), 1.0077069, 1e-7);
    EXPECT_NEAR(straggler_factor(1.1, 0.005, 128), 1.0473553, 1e-7);
    EXPECT_NEAR(straggler_factor(1.1, 0.005, 1536), 1.0999547, 1e-7);
}

TEST(Stragglers, ASlowStageIsPaidForWithEveryItem) {
    std::vector<double> stages(8, 1.0);
    EXPECT_NEAR(flow_shop_makespan(stages, 32), 39.0, 1e-12);
    stages[3] = 1.1;
    EXPECT_NEAR(flow_shop_makespan(stages, 32), 42.2, 1e-12);
}

}  // namespace
}  // namespace orrery
