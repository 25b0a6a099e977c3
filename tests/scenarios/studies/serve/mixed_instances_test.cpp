// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/mixed_instances.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/serve/serving_study.h"
#include "scenarios/studies/serve/synthetic_load.h"

namespace orrery {
namespace {

Scenario mixed_instances(const std::string& serving) {
    ReadOptions options;
    options.serving = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    auto read = read_scenario_text(
        "kind: serving\n"
        "cluster: {kinds: [{nodes: 1, node: dgx-h100}, {nodes: 1, node: dgx-a100-80g}], fabric: "
        "ndr400-rail}\n"
        "model: llama-3-8b\nserving: " +
            serving + "\nworkload: {num_requests: 40, request_rate: 20}\n",
        "m.yaml",
        ".",
        options);
    return std::move(read).value();
}

TEST(MixedInstances, EachHasTheStepsOfItsOwnDevices) {
    const Scenario scenario =
        mixed_instances("{pools: {instances: 4, tensor_model_parallel_size: 4}}");
    const auto made =
        MixedInstances::make(scenario, scenario.serving, scenario.serving.pools.front());
    ASSERT_TRUE(made);
    ASSERT_EQ(made->instances().size(), 4U);
    EXPECT_EQ(made->instances()[1].relative_time, 1);
    // 3.35 TB/s over 2.04 TB/s, less what does not depend on it.
    EXPECT_GT(made->instances()[2].relative_time, 1.1);
    EXPECT_LT(made->instances()[3].relative_time, 1.65);
    const auto requests = requests_of(scenario.workload).value();
    EXPECT_TRUE(serve_scenario(scenario, scenario.serving, requests, {}));
}

TEST(MixedInstances, WhatKnowsOneKindOfNodesIsAnError) {
    for (const std::string serving : {"{pools: {instances: 1, tensor_model_parallel_size: 16}}",
                                      "{autoscaler: {policy: rate}}",
                                      "{speculation: {draft_tokens: 2}}"}) {
        const Scenario scenario = mixed_instances(serving);
        const auto requests = requests_of(scenario.workload).value();
        EXPECT_FALSE(serve_scenario(scenario, scenario.serving, requests, {})) << serving;
    }
}

}  // namespace
}  // namespace orrery
