// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/slowdown.h"

#include <gtest/gtest.h>

#include "scenarios/studies/serve/highest_rate.h"
#include "tests/scenarios/served_model.h"

namespace orrery {
namespace {

Scenario shared_server() {
    Scenario scenario = served_model();
    scenario.workload = {.num_requests = 300,
                         .request_rate = 30,
                         .input_tokens = 512,
                         .output_tokens = 32,
                         .length_spread = 0.5};
    return scenario;
}

ServingResult served(const Scenario& scenario, double rate) {
    WorkloadSpec load = scenario.workload;
    load.request_rate = rate;
    ServingResult result;
    const std::vector<Request> requests = synthetic_requests(load);
    EXPECT_TRUE(serve_scenario(scenario, scenario.serving, requests, {}, &result));
    return result;
}

TEST(Slowdown, OfRequestsThatNeverMeetIsOne) {
    const Scenario scenario = shared_server();
    const auto alone =
        serve_alone(scenario, scenario.serving, synthetic_requests(scenario.workload));
    ASSERT_TRUE(alone);
    const auto apart = slowdowns_of(served(scenario, 1e-3), *alone);
    EXPECT_DOUBLE_EQ(apart.ttft.p99, 1);
    EXPECT_DOUBLE_EQ(apart.tbt.p99, 1);
    EXPECT_DOUBLE_EQ(apart.e2e.p99, 1);
}

// Three requests of 5, 5 and 1 tokens. Alone a token takes 1 s. The second one waits for 8 s
// between two of its tokens.
TEST(Slowdown, BetweenTokensIsTheMeanOfARequest) {
    ServingResult idle;
    for (const std::int64_t tokens : {5, 5, 1}) {
        RequestRecord record;
        record.output_tokens = tokens;
        record.first_token = Time::seconds(1);
        record.last_token = Time::seconds(static_cast<double>(tokens));
        idle.records.push_back(record);
    }
    ServingResult busy = idle;
    busy.records[1].last_token += Time::seconds(8);
    const auto slowdowns = slowdowns_of(busy, idle);
    EXPECT_DOUBLE_EQ(slowdowns.tbt.mean, 2);  // of 1 and 3; one token has no time between tokens
    EXPECT_DOUBLE_EQ(slowdowns.ttft.p99, 1);
}

TEST(Slowdown, GrowsWithTheRate) {
    const Scenario scenario = shared_server();
    const auto alone =
        serve_alone(scenario, scenario.serving, synthetic_requests(scenario.workload));
    ASSERT_TRUE(alone);
    const auto few = slowdowns_of(served(scenario, 5), *alone);
    const auto many = slowdowns_of(served(scenario, 60), *alone);
    EXPECT_GT(many.ttft.mean, few.ttft.mean);
    EXPECT_GT(many.tbt.p90, few.tbt.p90);
    EXPECT_GT(many.e2e.p50, few.e2e.p50);
    EXPECT_GE(few.ttft.p50, 1);
}

// Prompts of one instance hold up the steps of sequences that generate; prompts elsewhere do not.
TEST(Slowdown, IsOverAnInstanceThatDoesBoth) {
    Scenario scenario = shared_server();
    scenario.serving.pools = {{.role = PoolRole::prefill, .instances = 2},
                              {.role = PoolRole::decode, .instances = 2}};
    const auto alone =
        serve_alone(scenario, scenario.serving, synthetic_requests(scenario.workload));
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->instances.size(), 1U);
    const auto apart = slowdowns_of(served(scenario, 10), *alone);
    EXPECT_LT(apart.tbt.p99, 3);
}

TEST(Slowdown, IsHeldAgainstEachPercentile) {
    ServingAnswer::Slowdowns found;
    found.ttft = {.mean = 1, .p50 = 1, .p90 = 2, .p99 = 4};
    ServingObjectives wanted;
    EXPECT_TRUE(meets(found, wanted));  // nothing is asked for
    wanted.ttft_slowdown = {.p50 = 1, .p90 = 2, .p99 = 4};
    EXPECT_TRUE(wanted.any_slowdown());
    EXPECT_TRUE(meets(found, wanted));
    wanted.ttft_slowdown.p90 = 1.9;
    EXPECT_FALSE(meets(found, wanted));
    wanted.ttft_slowdown.p90 = 0;
    found.tbt.p99 = 5.1;
    wanted.tbt_slowdown.p99 = 5;
    EXPECT_FALSE(meets(found, wanted));
    found.tbt.p99 = 5;
    EXPECT_TRUE(meets(found, wanted));
}

TEST(Slowdown, BoundsTheHighestRate) {
    const Scenario scenario = shared_server();
    const auto requests = synthetic_requests(scenario.workload);
    ServingObjectives strict;
    strict.e2e_slowdown = {.p99 = 1.5};
    ServingObjectives loose;
    loose.e2e_slowdown = {.p99 = 3};
    const auto low = find_highest_rate(scenario, scenario.serving, requests, strict);
    const auto high = find_highest_rate(scenario, scenario.serving, requests, loose);
    ASSERT_TRUE(low && high);
    EXPECT_LT(low->rate, high->rate);
    ASSERT_TRUE(low->answer.slowdowns);
    EXPECT_LE(low->answer.slowdowns->e2e.p99, 1.5);
}

}  // namespace
}  // namespace orrery
