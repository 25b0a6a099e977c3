// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_serving.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "tests/scenarios/served_text.h"

namespace orrery {
namespace {

TEST(ReadServing, ObjectivesMayBeSlowdowns) {
    const auto read = read_served_text(
        "{objectives: {ttft: 2 s, ttft_slowdown: {p50: 2, p99: 6}, tbt_slowdown: {p90: 1.5}}}",
        "{}");
    ASSERT_TRUE(read) << read.error().front().to_string();
    const ServingObjectives& objectives = read->serving.objectives;
    EXPECT_EQ(objectives.ttft, Time::seconds(2));
    EXPECT_DOUBLE_EQ(objectives.ttft_slowdown.p50, 2);
    EXPECT_DOUBLE_EQ(objectives.ttft_slowdown.p90, 0);
    EXPECT_DOUBLE_EQ(objectives.ttft_slowdown.p99, 6);
    EXPECT_DOUBLE_EQ(objectives.tbt_slowdown.p90, 1.5);
    EXPECT_FALSE(objectives.e2e_slowdown.any());
    EXPECT_EQ(first_error("{objectives: {e2e_slowdown: 3}}", "{}"),
              "s.yaml:4:38: error: serving.objectives.e2e_slowdown must be a map, not '3' (hint: "
              "{p50: 2, p90: 3, p99: 6})");
    EXPECT_NE(first_error("{objectives: {tbt_slowdown: {p90: -1}}}", "{}").find("out of range"),
              std::string::npos);
    EXPECT_NE(first_error("{objectives: [1]}", "{}").find("serving.objectives must be a map"),
              std::string::npos);
}

TEST(ReadServing, WhatAPoolDoesNotSayIsTheEngines) {
    const auto read = read_served_text("{engine: {base: vllm-v0, memory_share: 0.8}}", "{}");
    ASSERT_TRUE(read) << read.error().front().to_string();
    const ServingSpec& spec = read->serving;
    EXPECT_EQ(spec.engine.name, "vllm-v0");
    EXPECT_EQ(spec.engine.scheduler, "vllm_v0");
    EXPECT_DOUBLE_EQ(spec.engine.memory_share, 0.8);
    ASSERT_EQ(spec.pools.size(), 1U);
    EXPECT_EQ(spec.pools[0].limits.max_num_seqs, 256);
}

TEST(ReadServing, PoolsHaveSizesOfTheirOwn) {
    const auto read = read_served_text(
        "{pools: [{role: prefill, instances: 2, precision: fp8}, {role: decode, instances: 3, "
        "tensor_model_parallel_size: 2, max_num_seqs: 7, router: power_of_two}]}",
        "{users: 4, input_tokens: 10}");
    ASSERT_TRUE(read) << read.error().front().to_string();
    const ServingSpec& spec = read->serving;
    ASSERT_EQ(spec.pools.size(), 2U);
    EXPECT_EQ(spec.pools[0].role, PoolRole::prefill);
    EXPECT_EQ(spec.pools[0].plan.weight_bits, 8);
    EXPECT_EQ(spec.pools[0].limits.max_num_seqs, 1024);
    EXPECT_EQ(spec.pools[1].plan.tensor_model_parallel_size, 2);
    EXPECT_EQ(spec.pools[1].limits.max_num_seqs, 7);
    EXPECT_EQ(spec.num_gpus(), 2 + 3 * 2);
    EXPECT_EQ(read->workload.users, 4);
    EXPECT_EQ(read->workload.request_rate, 0);
}

TEST(ReadServing, MistakesHaveAPlaceAndAHint) {
    EXPECT_EQ(first_error("{pools: {role: decode}}", "{}"),
              "s.yaml:4:18: error: serving.pools must be one aggregated pool, or prefill and "
              "decode "
              "(hint: [{role: prefill, …}, {role: decode, …}])");
    EXPECT_EQ(first_error("{pools: {router: magic}}", "{}"),
              "s.yaml:4:19: error: serving.pools.router can't be 'magic' (hint: round_robin, "
              "random, "
              "least_requests, least_tokens, power_of_two, first_token, prefix_aware, "
              "earliest_end)");
    EXPECT_NE(first_error("[]", "{}").find("serving must be a map"), std::string::npos);
}

TEST(ReadServing, AnotherKindOfFileIsNamed) {
    ReadOptions options;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    const auto read =
        read_scenario(ORRERY_SOURCE_DIR "/scenarios/serving/llama3-70b.yaml", options);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().front().what, "this is a served load, and a scenario is due");
    EXPECT_EQ(read.error().front().hint, "orrery serve FILE");
    options.serving = true;
    const auto other = read_scenario(ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml", options);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().front().what, "this is a scenario, and a served load is due");
}

TEST(ReadServing, SectionsOfATrainingAreRefused) {
    for (const char* section :
         {"job: {steps: 3}", "network: packet", "software: nemo", "plan: {}"}) {
        const std::string error = first_error("{}", "{}\n" + std::string{section});
        EXPECT_NE(error.find("a file of kind serving has none"), std::string::npos)
            << section << ": " << error;
    }
}

}  // namespace
}  // namespace orrery
