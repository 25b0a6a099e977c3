// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/highest_rate.h"

#include <gtest/gtest.h>

#include "tests/scenarios/served_model.h"

namespace orrery {
namespace {

Scenario loaded_server() {
    Scenario scenario = served_model();
    scenario.workload = {
        .num_requests = 400, .request_rate = 20, .input_tokens = 512, .output_tokens = 64};
    return scenario;
}

Result<HighestRate> highest_of(const Scenario& scenario, const ServingObjectives& objectives) {
    return find_highest_rate(
        scenario, scenario.serving, synthetic_requests(scenario.workload), objectives);
}

TEST(HighestRate, MeetsTheObjectivesAndAHigherRateDoesNot) {
    const Scenario scenario = loaded_server();
    const auto highest =
        highest_of(scenario, {.ttft = Time::seconds(1), .tpot = Time::seconds(0.02)});
    ASSERT_TRUE(highest);
    EXPECT_GT(highest->rate, 1);
    EXPECT_LE(highest->answer.ttft_s.p99, 1);
    EXPECT_LE(highest->answer.tpot_s.p99, 0.02);
    EXPECT_EQ(highest->answer.requests, 400);

    Scenario busier = scenario;
    busier.workload.request_rate = highest->rate * 1.05;
    const auto answer =
        serve_scenario(busier, busier.serving, synthetic_requests(busier.workload), {});
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->ttft_s.p99 > 1 || answer->tpot_s.p99 > 0.02);
}

TEST(HighestRate, DependsNotOnTheStatedRate) {
    Scenario scenario = loaded_server();
    const ServingObjectives objectives{.tpot = Time::seconds(0.02)};
    const auto one = highest_of(scenario, objectives);
    scenario.workload.request_rate = 200;
    const auto other = highest_of(scenario, objectives);
    ASSERT_TRUE(one && other);
    EXPECT_NEAR(one->rate / other->rate, 1, 0.06);
}

// Slower and slower, the load would last longer than time.
TEST(HighestRate, EndsWhereTimeDoes) {
    Scenario scenario = loaded_server();
    scenario.workload.request_rate = 2e-4;  // 2e6 s
    const auto highest = highest_of(scenario, {.tpot = Time::seconds(1e-6)});
    ASSERT_FALSE(highest);
    EXPECT_NE(highest.error().what.find("miss the objectives"), std::string::npos);
}

TEST(HighestRate, CountsGoodRequestsByTheStatedObjectives) {
    Scenario scenario = loaded_server();
    scenario.serving.objectives.ttft = Time::picoseconds(1);  // no request is good
    const auto highest = highest_of(scenario, {.tpot = Time::seconds(0.02)});
    ASSERT_TRUE(highest);
    EXPECT_EQ(highest->answer.good_share, 0);
}

TEST(HighestRate, RefusesObjectivesThatNothingMeets) {
    const Scenario scenario = loaded_server();
    const auto highest = highest_of(scenario, {.tpot = Time::seconds(1e-6)});
    ASSERT_FALSE(highest);
    EXPECT_NE(highest.error().what.find("miss the objectives"), std::string::npos);
}

}  // namespace
}  // namespace orrery
