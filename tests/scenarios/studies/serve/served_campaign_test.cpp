// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/served_campaign.h"

#include <gtest/gtest.h>

#include "tests/scenarios/served_model.h"

namespace orrery {
namespace {

// Two instances; the fault list gets a crash of the node that holds both.
Scenario often_served(const std::string& faults) {
    ReadOptions options;
    options.serving = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    return read_scenario_text(
               "kind: serving\n"
               "cluster: {nodes: 2, node: dgx-h100, fabric: ndr400-rail}\n"
               "model: llama-3-8b\n"
               "campaign: {seeds: 3}\n"
               "serving: {pools: {instances: 2, tensor_model_parallel_size: 8}, "
               "recovery: {start_up: 5 s}}\n"
               "workload: {num_requests: 200, request_rate: 10, input_tokens: 500, "
               "output_tokens: 100}\n"
               "faults: " +
                   faults + "\n",
               "s.yaml",
               ".",
               options)
        .value();
}

TEST(ServedCampaign, RunsDifferInRequestsAndShareThemWithTheirQuietTwins) {
    const Scenario scenario =
        often_served("[{t: 5 s, at: \"node:0\", kind: node_crash, duration: 5 s}]");
    const auto campaign = run_served_campaign(scenario, 2, {});
    ASSERT_TRUE(campaign);
    ASSERT_EQ(campaign->runs.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        const ServedCampaign::Run& run = campaign->runs[i];
        EXPECT_EQ(run.seed, scenario.serving.seed + i);
        EXPECT_EQ(run.answer.faults.size(), 1U);
        EXPECT_LT(run.answer.availability, 1);
        EXPECT_EQ(run.without_faults.availability, 1);
        EXPECT_EQ(run.answer.requests, 200);
        EXPECT_GT(run.answer.e2e_s.mean, run.without_faults.e2e_s.mean);
    }
    EXPECT_NE(campaign->runs[0].without_faults.makespan, campaign->runs[1].without_faults.makespan);
}

// As many runs at a time as wanted: the same answers.
TEST(ServedCampaign, DoesNotDependOnTheThreads) {
    const Scenario scenario = often_served("[]");
    const auto one = run_served_campaign(scenario, 1, {});
    const auto three = run_served_campaign(scenario, 3, {});
    ASSERT_TRUE(one && three);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(one->runs[i].answer.e2e_s.mean, three->runs[i].answer.e2e_s.mean);
    }
}

}  // namespace
}  // namespace orrery
