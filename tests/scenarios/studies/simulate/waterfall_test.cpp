// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/waterfall.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/each_small_scenario.h"

namespace orrery {
namespace {

using namespace orrery::literals;

Time model_time(const Answer& a) {
    return a.model_flops_per_step /
           FlopRate::per_second(a.peak.per_second() * static_cast<double>(a.ranks));
}

class WaterfallOf : public EachSmallScenario {};

TEST_P(WaterfallOf, PartsAddUpToTheStepExactly) {
    for (const bool fold : {true, false}) {
        SimulationOptions options;
        options.fold = fold;
        const Result<Answer> answer = simulate_scenario(scenario, options);
        ASSERT_TRUE(answer) << answer.error().to_string();
        Time sum = model_time(*answer);
        double mfu = answer->mfu;
        for (const LostMfu& lost : answer->lost_mfu) {
            sum += lost.time;
            mfu += lost.mfu;
            EXPECT_NE(lost.time, Time{}) << name(lost.cause);
            EXPECT_TRUE(lost.time > Time{} || lost.cause == Cause::counted_not_executed)
                << name(lost.cause) << " takes " << lost.time.seconds() << " s";
        }
        EXPECT_EQ(sum, answer->iteration) << "folded: " << fold;
        EXPECT_NEAR(mfu, 1, 1e-9);
    }
}

TEST_P(WaterfallOf, FoldedAndUnfoldedSayTheSame) {
    SimulationOptions unfolded;
    unfolded.fold = false;
    const Result<Answer> a = simulate_scenario(scenario);
    const Result<Answer> b = simulate_scenario(scenario, unfolded);
    ASSERT_TRUE(a && b);
    ASSERT_EQ(a->lost_mfu.size(), b->lost_mfu.size());
    for (std::size_t i = 0; i < a->lost_mfu.size(); ++i) {
        EXPECT_EQ(a->lost_mfu[i].cause, b->lost_mfu[i].cause);
        EXPECT_EQ(a->lost_mfu[i].time, b->lost_mfu[i].time) << name(a->lost_mfu[i].cause);
    }
}

INSTANTIATE_TEST_SUITE_P(All,
                         WaterfallOf,
                         ::testing::ValuesIn(named_small_scenarios()),
                         [](const auto& named) { return test_name(named.param); });

// Two ranks that do the same: 60 ns of useful products, 20 ns lost in them, 20 ns of data.
SimulationResult result_in_a_row() {
    SimulationResult result;
    result.iteration = 100_ns;
    result.critical_path[Cause::useful_compute] = 60_ns;
    result.critical_path[Cause::gemm_inefficiency] = 20_ns;
    result.critical_path[Cause::exposed_data] = 20_ns;
    result.busy_sum = result.critical_path;
    result.busy_sum += result.critical_path;
    result.rank_compute = {80_ns};
    return result;
}

CauseTimes parts_of(const SimulationResult& result, Time model_time, double noise = 1) {
    CauseTimes parts;
    Time sum = model_time;
    for (const LostMfu& lost :
         waterfall({.result = &result, .num_ranks = 2, .noise = noise, .model_time = model_time})) {
        parts[lost.cause] = lost.time;
        sum += lost.time;
        EXPECT_DOUBLE_EQ(lost.mfu, lost.time / result.iteration);
    }
    EXPECT_EQ(sum, result.iteration);
    return parts;
}

TEST(Waterfall, OfOneOpAfterTheOtherIsTheCriticalPath) {
    const CauseTimes parts = parts_of(result_in_a_row(), 60_ns);
    EXPECT_EQ(parts[Cause::gemm_inefficiency], 20_ns);
    EXPECT_EQ(parts[Cause::exposed_data], 20_ns);
    EXPECT_EQ(parts.total(), 40_ns);
}

TEST(Waterfall, WhatIsCountedAndNotExecutedIsAGain) {
    EXPECT_EQ(parts_of(result_in_a_row(), 63_ns)[Cause::counted_not_executed], Time{} - 3_ns);
    EXPECT_EQ(parts_of(result_in_a_row(), 55_ns)[Cause::counted_not_executed], 5_ns);
}

TEST(Waterfall, KernelsOnThePathBeyondTheBusiestRankAreBubble) {
    SimulationResult result = result_in_a_row();
    result.busy_sum = {};
    result.busy_sum[Cause::useful_compute] = 60_ns;  // 30 ns a rank
    result.busy_sum[Cause::gemm_inefficiency] = 20_ns;
    result.rank_compute = {50_ns, 30_ns};
    const CauseTimes parts = parts_of(result, 30_ns);
    EXPECT_EQ(parts[Cause::gemm_inefficiency], 10_ns);
    EXPECT_EQ(parts[Cause::stage_imbalance], 10_ns);  // 50 - (30 + 10)
    EXPECT_EQ(parts[Cause::pipeline_bubble], 30_ns);  // 80 - 50
    EXPECT_EQ(parts[Cause::exposed_data], 20_ns);
}

TEST(Waterfall, KernelsBesideThePathHideCommunicationOnIt) {
    SimulationResult result = result_in_a_row();
    result.critical_path = {};
    result.critical_path[Cause::useful_compute] = 10_ns;
    result.critical_path[Cause::gemm_inefficiency] = 10_ns;
    result.critical_path[Cause::exposed_data] = 60_ns;
    result.critical_path[Cause::exposed_tensor] = 20_ns;
    // Ranks compute for 80 ns, the path has 20 ns of that: 60 of its 80 ns of communication hide.
    const CauseTimes parts = parts_of(result, 60_ns);
    EXPECT_EQ(parts[Cause::exposed_data], 15_ns);
    EXPECT_EQ(parts[Cause::exposed_tensor], 5_ns);
    EXPECT_EQ(parts[Cause::pipeline_bubble], 0_ns);
}

TEST(Waterfall, RoundingOfHiddenCommunicationGoesToTheLargest) {
    SimulationResult result = result_in_a_row();
    result.critical_path[Cause::useful_compute] = 59'999_ps;
    result.critical_path[Cause::exposed_data] = 10'001_ps;
    result.critical_path[Cause::exposed_tensor] = 10'000_ps;
    const CauseTimes parts = parts_of(result, 60_ns);  // 1 ps hides: no share rounds up to it
    EXPECT_EQ(parts[Cause::exposed_data], 10_ns);
    EXPECT_EQ(parts[Cause::exposed_tensor], 10_ns);
}

TEST(Waterfall, NoiseIsTakenOutOfTheInefficienciesOfKernels) {
    SimulationResult result = result_in_a_row();
    result.critical_path[Cause::optimizer] = 10_ns;
    result.critical_path[Cause::exposed_data] = 10_ns;
    result.busy_sum[Cause::optimizer] = 20_ns;
    result.rank_compute = {90_ns};
    const CauseTimes parts = parts_of(result, 60_ns, 1.25);  // kernels take a fifth too long
    EXPECT_EQ(parts[Cause::noise], 18_ns);                   // of 60 + 20 + 10
    EXPECT_EQ(parts[Cause::gemm_inefficiency], 4_ns);        // 20 - 4 - 12
    EXPECT_EQ(parts[Cause::optimizer], 8_ns);
    EXPECT_EQ(parts[Cause::exposed_data], 10_ns);
}

}  // namespace
}  // namespace orrery
