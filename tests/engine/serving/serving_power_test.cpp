// SPDX-License-Identifier: Apache-2.0
// A row of servers near its limit of power.
#include <gtest/gtest.h>

#include "engine/serving/serving_run.h"
#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace {

using namespace literals;

// Steps of 10 ms, at half the clock of `slower`. An instance draws 100 W, and 1,000 W where it only
// computes. Each generates for 100 s.
ServingResult run(Time slower, double limit, std::size_t instances, std::size_t first_low) {
    LinearCost cost(10_ms, Time{});
    LinearCost slower_cost(slower, Time{});
    ServingPool pool = pool_of(cost, 1024, instances);
    pool.slower_cost = &slower_cost;
    pool.slower_clock = 0.5;
    const auto polca = make_power_policy("polca");
    const std::vector<Request> requests(instances,
                                        Request{.prompt_tokens = 8, .output_tokens = 10'000});
    return serve(requests,
                 {},
                 pool,
                 *make_request_router("round_robin", 1),
                 {},
                 {.power = {.policy = polca.get(),
                            .limit_watts = limit,
                            .first_low = first_low,
                            .idle_watts = 100,
                            .busy_watts = 1000}});
}

// A time in which computation takes 1/clock as long.
double gap_s(double clock) {
    return 0.01 / clock;
}

TEST(ServingPower, ARowWithinItsLimitIsOnlyMeasured) {
    const ServingResult result = run(20_ms, 10'000, 2, 2);
    EXPECT_EQ(result.end, 100'000_ms);
    EXPECT_NEAR(result.row.peak_watts, 2000, 1);
    EXPECT_EQ(result.row.capped + result.row.brakes, 0);
    EXPECT_NEAR(result.row.joules, 2 * 100'000.0, 1);
}

// Telemetry asks every two seconds; here the only step ends after one.
TEST(ServingPower, EnergyCountsToTheEndOfTheRun) {
    LinearCost cost(1000_ms, Time{});
    LinearCost slower_cost(2000_ms, Time{});
    ServingPool pool = pool_of(cost, 1024, 1);
    pool.slower_cost = &slower_cost;
    pool.slower_clock = 0.5;
    pool.gpus = 4;
    const auto polca = make_power_policy("polca");
    const RowPower row{
        .policy = polca.get(), .limit_watts = 1e6, .idle_watts = 100, .busy_watts = 1000};
    const ServingResult result = serve({{.prompt_tokens = 8, .output_tokens = 1}},
                                       {},
                                       pool,
                                       *make_request_router("round_robin", 1),
                                       {},
                                       {.power = row});
    EXPECT_EQ(result.end, 1000_ms);
    EXPECT_NEAR(result.row.joules, 4 * 1000, 1e-6);
    EXPECT_NEAR(result.row.peak_watts, 4 * 1000, 1e-6);
}

TEST(ServingPower, LowPriorityIsCappedFirstAndAfterADelay) {
    const ServingResult result = run(20_ms, 2400, 2, 1);  // 83 % of the limit
    EXPECT_EQ(result.row.capped, 1);
    EXPECT_EQ(result.records[0].longest_gap, 10_ms);
    EXPECT_NEAR(result.records[1].longest_gap.seconds(), gap_s(1275.0 / 1410), 1e-9);
    // Asked at 2 s, set at 42 s: 58 s of work take longer.
    EXPECT_NEAR(result.records[1].last_token.seconds(), 42 + 58 * 1410.0 / 1275, 0.1);
}

TEST(ServingPower, HighPriorityIsCappedAboveTheSecondThreshold) {
    const ServingResult result = run(20_ms, 1100, 1, 1);  // 91 %
    EXPECT_EQ(result.row.capped, 1);
    EXPECT_EQ(result.row.brakes, 0);
    EXPECT_NEAR(result.records[0].longest_gap.seconds(), gap_s(1305.0 / 1410), 1e-9);
}

TEST(ServingPower, ACapDoesNotSlowDownWhatMemoryBinds) {
    const ServingResult result = run(10_ms, 600, 1, 0);  // 550 W: 92 %
    EXPECT_NEAR(result.row.peak_watts, 550, 1);
    EXPECT_EQ(result.row.capped, 1);
    EXPECT_EQ(result.records[0].longest_gap, 10_ms);
}

TEST(ServingPower, TheBrakeComesWhereTheLimitIsExceeded) {
    const ServingResult result = run(20_ms, 800, 1, 1);
    EXPECT_GE(result.row.brakes, 1);
    EXPECT_NEAR(result.records[0].longest_gap.seconds(), gap_s(288.0 / 1410), 1e-9);
    EXPECT_EQ(result.records[0].output_tokens, 10'000);
}

}  // namespace
}  // namespace orrery
