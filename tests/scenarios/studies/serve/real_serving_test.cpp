// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/real_serving.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"

namespace orrery {
namespace {

Scenario tiny_load(const std::vector<std::string>& overrides) {
    ReadOptions read;
    read.serving = true;
    read.overrides = {"workload.num_requests=12", "workload.request_rate=200"};
    read.overrides.insert(read.overrides.end(), overrides.begin(), overrides.end());
    const auto scenario = read_scenario(ORRERY_SOURCE_DIR "/scenarios/serve-tiny-cpu.yaml", read);
    EXPECT_TRUE(scenario) << scenario.error().front().to_string();
    return *scenario;
}

RealServingAnswer served(const std::vector<std::string>& overrides) {
    const Scenario scenario = tiny_load(overrides);
    const auto instances = real_instances(scenario);
    EXPECT_TRUE(instances);
    const auto answer = serve_for_real(scenario, *instances, synthetic_requests(scenario.workload));
    EXPECT_TRUE(answer);
    return *answer;
}

// Whatever the policy, the tokens are the same, and prediction and run serve the same requests.
TEST(RealServing, ServesWhatTheSimulatorServes) {
    const RealServingAnswer one = served({});
    EXPECT_EQ(one.measured.requests, 12);
    EXPECT_EQ(one.predicted.requests, 12);
    EXPECT_GT(one.measured.ttft_s.mean, 0);
    EXPECT_GT(one.predicted.tpot_s.mean, 0);
    EXPECT_EQ(one.measured.pools.front().cache_tokens, 320 * 16);
    for (const char* scheduler : {"sglang", "static", "orca"}) {
        EXPECT_EQ(served({std::string{"serving.engine.scheduler="} + scheduler}).outputs,
                  one.outputs)
            << scheduler;
    }
    EXPECT_EQ(served({"serving.pools.instances=2",
                      "workload={num_requests: 9, users: 3, input_tokens: 20, output_tokens: 9}"})
                  .outputs.size(),
              9u);
}

TEST(RealServing, WhatIsOnlySimulatedIsAnError) {
    const auto errors = [](const std::vector<std::string>& overrides) {
        const auto instances = real_grid(tiny_load(overrides));
        return instances ? std::string{} : instances.error().front().what;
    };
    EXPECT_NE(errors({"serving.pools.data_parallel_size=2"}).find("data and expert parallel"),
              std::string::npos);
    EXPECT_NE(errors({"serving.pools.tensor_model_parallel_size=3"}).find("4 attention heads"),
              std::string::npos);
    EXPECT_NE(errors({"serving.pools.pipeline_model_parallel_size=2", "serving.pools.instances=2"})
                  .find("several instances"),
              std::string::npos);
    const Scenario experts = tiny_load({"model.num_experts=4"});
    EXPECT_FALSE(real_instances(experts));
    const Scenario longer = tiny_load({"workload.input_tokens=300", "workload.length_spread=1"});
    const auto instances = real_instances(longer);
    ASSERT_TRUE(instances);
    const auto answer = serve_for_real(longer, *instances, synthetic_requests(longer.workload));
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().front().what.find("request 0 has 348 tokens"), std::string::npos);
}

}  // namespace
}  // namespace orrery
