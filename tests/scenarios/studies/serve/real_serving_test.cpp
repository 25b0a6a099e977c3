// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/real_serving.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "tests/runtime/communication/local_ranks.h"

namespace orrery {
namespace {

// Small steps, so that there are few shapes of steps to time before a run.
Scenario tiny_load(const std::vector<std::string>& overrides,
                   const std::string& file = "serve-tiny-cpu.yaml") {
    ReadOptions read;
    read.serving = true;
    read.overrides = {"workload.num_requests=12",
                      "workload.request_rate=200",
                      "workload.input_tokens=24",
                      "workload.output_tokens=12",
                      "serving.engine.max_num_seqs=8",
                      "serving.engine.max_num_batched_tokens=64"};
    read.overrides.insert(read.overrides.end(), overrides.begin(), overrides.end());
    const auto scenario = read_scenario(ORRERY_SOURCE_DIR "/scenarios/" + file, read);
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

// Each rank is a thread here, with a transport of its own.
TEST(RealServing, SplitPoolsGiveTheTokensOfOneProcess) {
    // Four ranks that wait for each other's messages keep two cores busy.
    const std::string few = "workload.num_requests=5";
    const auto expected = served({few}).outputs;
    for (const std::string tensor_size : {"1", "2"}) {
        const Scenario scenario =
            tiny_load({few,
                       "serving.pools[0].tensor_model_parallel_size=" + tensor_size,
                       "serving.pools[1].tensor_model_parallel_size=" + tensor_size},
                      "serve-tiny-cpu-split.yaml");
        const auto grid = real_grid(scenario);
        ASSERT_TRUE(grid);
        const auto body = [&](std::unique_ptr<Transport> transport) {
            if (transport->rank() > 0) {
                EXPECT_TRUE(follow_instance(scenario, *transport).empty());
                return;
            }
            const auto instances = real_instances(scenario, transport.get());
            ASSERT_TRUE(instances);
            const auto answer =
                serve_for_real(scenario, *instances, synthetic_requests(scenario.workload));
            ASSERT_TRUE(answer);
            EXPECT_EQ(answer->outputs, expected);
            EXPECT_EQ(answer->measured.pools.size(), 2U);
            EXPECT_EQ(answer->measured.transfers, 5);
            EXPECT_EQ(answer->measured.transferred, answer->predicted.transferred);
            // The predicted time may be 0: other work beside a rehearsal can take the fixed part.
            EXPECT_GT(answer->measured.transfer_s, 0);
        };
        EXPECT_EQ(grid->num_ranks(), 2 * std::stoi(tensor_size));
        run_as_ranks(static_cast<std::uint32_t>(grid->num_ranks()), body);
    }
}

TEST(RealServing, AGpuServesInstancesOfOneRankInBf16) {
    const Scenario split = tiny_load({}, "serve-tiny-cpu-split.yaml");
    const auto ranks = check_device(split, *real_grid(split), DeviceChoice::cuda);
    ASSERT_EQ(ranks.size(), 1U);
    EXPECT_EQ(ranks.front().where, "serving.pools");
    EXPECT_TRUE(check_device(split, *real_grid(split), DeviceChoice::cpu).empty());
    const Scenario fp8 = tiny_load({"serving.pools.precision=fp8"});
    const auto precision = check_device(fp8, *real_grid(fp8), DeviceChoice::cuda);
    ASSERT_EQ(precision.size(), 1U);
    EXPECT_EQ(precision.front().where, "serving.pools.precision");
    const Scenario one = tiny_load({});
    EXPECT_TRUE(check_device(one, *real_grid(one), DeviceChoice::cuda).empty());
}

TEST(RealServing, PoliciesThatAreOnlySimulatedAreErrors) {
    for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
             {"serving.admission", "objectives"},
             {"serving.autoscaler.policy", "rate"},
             {"serving.speculation.draft_tokens", "4"},
             {"serving.objectives.tbt", "1 ms"}}) {
        const auto grid =
            real_grid(tiny_load({"serving.objectives={ttft: 2 s}", key + "=" + value}));
        ASSERT_FALSE(grid) << key;
        EXPECT_EQ(grid.error().front().where, key);
        EXPECT_NE(grid.error().front().what.find("only simulated"), std::string::npos);
    }
}

TEST(RealServing, UnequalPoolsAreErrors) {
    const auto error = [](const std::string& one) {
        const auto grid = real_grid(tiny_load({one}, "serve-tiny-cpu-split.yaml"));
        return grid ? std::string{} : grid.error().front().what;
    };
    EXPECT_NE(error("serving.pools[1].tensor_model_parallel_size=2")
                  .find("prompts are computed by tp 1 x pp 1 and the rest by tp 2 x pp 1"),
              std::string::npos);
    EXPECT_NE(error("serving.pools[1].block_size=32").find("blocks of 16 and of 32 tokens"),
              std::string::npos);
    EXPECT_NE(error("serving.pools[1].instances=2").find("several instances"), std::string::npos);
    EXPECT_EQ(error("serving.layer_wise_tokens=1"),
              "prompts that leave layer by layer are only simulated");
}

TEST(RealServing, WhatIsOnlySimulatedIsAnError) {
    const auto errors = [](const std::vector<std::string>& overrides) {
        const auto instances = real_grid(tiny_load(overrides));
        return instances ? std::string{} : instances.error().front().what;
    };
    EXPECT_NE(errors({"serving.pools.data_parallel_size=2"}).find("data and expert parallel"),
              std::string::npos);
    EXPECT_EQ(errors({"workload.adapters=2000", "serving.pools.adapter_rank=8"}),
              "more than 1024 adapters are only simulated");
    EXPECT_EQ(errors({"workload.repeated_requests=1"}),
              "prompts of an earlier run are only simulated");
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
    EXPECT_NE(answer.error().front().what.find("request 0 has 312 tokens"), std::string::npos);
}

}  // namespace
}  // namespace orrery
