// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/served_faults.h"

#include <gtest/gtest.h>

#include "scenarios/studies/serve/serving_study.h"
#include "tests/scenarios/served_text.h"

namespace orrery {
namespace {

using namespace literals;

ResultOrErrors<Scenario> with_faults(const std::string& faults,
                                     const std::string& serving,
                                     const std::string& output_tokens = "100") {
    ReadOptions options;
    options.serving = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    return read_scenario_text(
        "kind: serving\n"
        "cluster: {nodes: 4, node: dgx-h100, fabric: ndr400-rail}\n"
        "model: llama-3-8b\n"
        "faults: " +
            faults + "\nserving: " + serving +
            "\nworkload: {num_requests: 400, request_rate: 10, input_tokens: 500, output_tokens: " +
            output_tokens + "}\n",
        "s.yaml",
        ".",
        options);
}

ServedFaults faults_of(const std::string& faults, const std::string& serving) {
    const auto scenario = with_faults(faults, serving);
    EXPECT_TRUE(scenario) << scenario.error().front().to_string();
    const auto made = served_faults(*scenario, scenario->serving, Time::seconds(1000), nullptr);
    EXPECT_TRUE(made);
    return *made;
}

// 16.06 GB of weights, read at 1 GB/s; detection as campaigns have it.
constexpr const char* kFourOfANode =
    "{pools: {instances: 4, tensor_model_parallel_size: 8}, recovery: {start_up: 20 s, "
    "weight_loading: 1 GB/s, detection: {heartbeat: 30 s, node_agent: false}}}";

TEST(ServedFaults, AnInstanceStopsWithItsNodeAndComesBackWithItsWeights) {
    const ServedFaults made =
        faults_of("[{t: 100 s, at: \"node:2\", kind: node_crash}]", kFourOfANode);
    ASSERT_EQ(made.instances.outages.size(), 1U);
    const InstanceOutage& outage = made.instances.outages[0];
    EXPECT_EQ(outage.instance, 2U);
    EXPECT_EQ(outage.begin, Time::seconds(100));
    EXPECT_GE(outage.noticed, Time::seconds(100));
    EXPECT_LE(outage.noticed, Time::seconds(130));
    EXPECT_NEAR((outage.end - outage.noticed).seconds(), 20 + 16.06, 0.1);
    EXPECT_EQ(made.faults[0].what, "node_crash at node:2");
}

TEST(ServedFaults, AStatedDurationIsTheRepair) {
    const ServedFaults made = faults_of(
        "[{t: 100 s, at: \"node:2/gpu:3\", kind: gpu_lost, duration: 500 s}, "
        "{t: 150 s, at: \"node:2\", kind: node_crash, duration: 600 s}]",
        kFourOfANode);
    // The second one finds it down, and makes it stay so for longer.
    ASSERT_EQ(made.instances.outages.size(), 1U);
    EXPECT_EQ(made.instances.outages[0].instance, 2U);
    EXPECT_NEAR(made.instances.outages[0].end.seconds(), 750 + 20 + 16.06, 0.1);
    EXPECT_EQ(made.faults[1].instances.size(), 1U);
    EXPECT_TRUE(made.faults[1].outages.empty());
}

TEST(ServedFaults, AnAdapterStopsOnlyWhatNeedsTheNetwork) {
    constexpr const char* kFault = "[{t: 1 s, at: \"node:1/nic:0\", kind: nic_down}]";
    EXPECT_TRUE(faults_of(kFault, kFourOfANode).instances.outages.empty());
    // Of two nodes each.
    const ServedFaults made = faults_of(
        kFault,
        "{pools: {instances: 2, tensor_model_parallel_size: 8, pipeline_model_parallel_size: 2}}");
    ASSERT_EQ(made.instances.outages.size(), 1U);
    EXPECT_EQ(made.instances.outages[0].instance, 0U);
}

TEST(ServedFaults, ASlowHostSlowsItsInstances) {
    const ServedFaults made = faults_of(
        "[{kind: slow_host, at: \"node:1\", factor: 1.3}, {t: 10 s, kind: slow_gpu, at: \"gpu:0\", "
        "duration: 5 s}]",
        "{pools: {instances: 8, tensor_model_parallel_size: 4}}");
    ASSERT_EQ(made.instances.slowdowns.size(), 3U);
    EXPECT_EQ(made.instances.slowdowns[0].instance, 2U);
    EXPECT_EQ(made.instances.slowdowns[1].instance, 3U);
    EXPECT_EQ(made.instances.slowdowns[1].factor, 1.3);
    EXPECT_EQ(made.instances.slowdowns[1].end, Time::max());
    EXPECT_EQ(made.instances.slowdowns[2].end, Time::seconds(15));
}

TEST(ServedFaults, WhatDoesNotConcernALoadIsLeftOutAndSaid) {
    const auto scenario = with_faults(
        "[{t: 1 s, kind: store_slow}, {step: 3, at: \"node:0\", kind: node_crash}, "
        "{process: exponential, kind: gpu_lost, mtbf: 100 d}]",
        "{pools: {instances: 4, tensor_model_parallel_size: 8}}");
    ASSERT_TRUE(scenario);
    const auto left_out = faults_left_out(scenario->faults.entries, FaultUser::serving);
    ASSERT_EQ(left_out.size(), 2U);
    EXPECT_EQ(left_out[0].entry.path, "faults[0]");
    EXPECT_EQ(left_out[1].entry.path, "faults[1]");
    EXPECT_TRUE(served_faults(*scenario, scenario->serving, Time::seconds(100), nullptr));
}

TEST(ServedFaults, TooManyAreAnError) {
    const auto scenario = with_faults("[{process: exponential, kind: gpu_lost, mtbf: 1 s}]",
                                      "{pools: {instances: 4, tensor_model_parallel_size: 8}}");
    ASSERT_TRUE(scenario);
    const auto made = served_faults(*scenario, scenario->serving, Time::seconds(1e5), nullptr);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().what.find("faults would come"), std::string::npos);
}

ServingAnswer answer_of(const std::string& faults,
                        const std::string& serving,
                        const std::string& output_tokens = "100") {
    const auto scenario = with_faults(faults, serving, output_tokens);
    EXPECT_TRUE(scenario) << scenario.error().front().to_string();
    const auto requests = requests_of(scenario->workload);
    const auto answer = serve_scenario(*scenario, scenario->serving, *requests, {});
    EXPECT_TRUE(answer) << answer.error().to_string();
    return *answer;
}

TEST(ServedFaults, ADeadInstanceCostsLatencyAndNoRequest) {
    const std::string pools = "{pools: {instances: 2, tensor_model_parallel_size: 8}}";
    const ServingAnswer healthy = answer_of("[]", pools);
    const ServingAnswer hurt =
        answer_of("[{t: 10 s, at: \"node:1\", kind: node_crash, duration: 1 d}]", pools);
    EXPECT_EQ(hurt.requests, 400);
    ASSERT_EQ(hurt.faults.size(), 1U);
    EXPECT_GT(hurt.faults[0].moved_requests, 0);
    EXPECT_GT(hurt.faults[0].lost_tokens, 0);
    EXPECT_GT(hurt.e2e_s.p99, 2 * healthy.e2e_s.p99);
    EXPECT_LT(hurt.availability, 0.7);
    EXPECT_EQ(healthy.availability, 1);
}

// Prompts of one node, generation on three; the adapters of the first one carry all caches.
TEST(ServedFaults, ASlowLinkSlowsTransfersAndACutOneHoldsThem) {
    const std::string pools =
        "{pools: [{role: prefill, instances: 1, tensor_model_parallel_size: 8}, "
        "{role: decode, instances: 3, tensor_model_parallel_size: 8}]}";
    const ServingAnswer healthy = answer_of("[]", pools);
    const ServingAnswer slow = answer_of("[{kind: slow_nic, at: \"node:0\", factor: 4}]", pools);
    // What the bytes take; a latency stays.
    EXPECT_GT(slow.transfer_s, 2 * healthy.transfer_s);
    EXPECT_LT(slow.transfer_s, 4.1 * healthy.transfer_s);
    const ServingAnswer cut =
        answer_of("[{t: 5 s, kind: link_flap, at: \"node:0\", duration: 3 s}]", pools);
    EXPECT_EQ(cut.requests, 400);
    EXPECT_EQ(cut.transfers, healthy.transfers);
    EXPECT_GT(cut.e2e_s.p99, healthy.e2e_s.p99 + 2);
    EXPECT_NEAR(cut.e2e_s.p50, healthy.e2e_s.p50, 0.1 * healthy.e2e_s.p50);
}

TEST(ServedFaults, ACopyOfTheHostSavesThePrompt) {
    const std::string pools =
        "pools: [{role: prefill, instances: 1, tensor_model_parallel_size: 8}, "
        "{role: decode, instances: 3, tensor_model_parallel_size: 8}]";
    const std::string faults = "[{t: 20 s, at: \"node:2\", kind: node_crash}]";
    const ServingAnswer again = answer_of(faults, "{" + pools + "}", "600");
    const ServingAnswer copied =
        answer_of(faults, "{" + pools + ", recovery: {lost_cache: copy}}", "600");
    EXPECT_GT(again.faults[0].moved_requests, 0);
    EXPECT_EQ(again.faults[0].moved_requests, copied.faults[0].moved_requests);
    EXPECT_GT(copied.faults[0].lost_tokens, 0);
    EXPECT_LE(copied.faults[0].lost_tokens + 500, again.faults[0].lost_tokens);
    EXPECT_GT(copied.transfers, again.transfers);
}

}  // namespace
}  // namespace orrery
