// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/place_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "network/fabric/node_order.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

// Four servers, of which 0 and 2, and 1 and 3, reach each other well. Each data-parallel group of
// the plan has two neighbouring servers, and nothing else crosses the network but small messages.
Scenario two_pairs(const std::vector<std::string>& more = {}) {
    std::vector<std::string> settings{
        "cluster.nodes=4",
        "cluster.fabric={kind: file, nics_per_node: 4, nic_bandwidth: 100 Gbps, link_matrix: "
        "\"from,to,bandwidth\\n0,1,10 Gbps\\n0,2,100 Gbps\\n0,3,10 Gbps\\n1,2,10 Gbps\\n"
        "1,3,100 Gbps\\n2,3,10 Gbps\\n\"}",
        "plan.tensor_model_parallel_size=4",
        "plan.pipeline_model_parallel_size=2"};
    settings.insert(settings.end(), more.begin(), more.end());
    return small_scenario("pairs", settings);
}

TEST(PlaceNodes, FindsTheServersThatReachEachOther) {
    const Scenario scenario = two_pairs();
    const Result<PlacedNodes> placed = place_nodes(scenario, {.tries = 60});
    ASSERT_TRUE(placed) << placed.error().what;
    ASSERT_EQ(placed->order.size(), 4U);
    EXPECT_EQ(placed->order[0] % 2, placed->order[1] % 2) << placed->order[0];
    EXPECT_EQ(placed->order[2] % 2, placed->order[3] % 2);
    EXPECT_LT(placed->answer.iteration.seconds(), 0.8 * placed->before.iteration.seconds());
    EXPECT_GT(placed->simulations, 1);
    EXPECT_LE(placed->simulations, 24);  // as many orders as there are
    // The answer is that of the scenario with this order.
    Scenario again = scenario;
    again.cluster.gpu_of_rank = gpus_of_nodes(placed->order, again.cluster.node.gpus_per_node);
    EXPECT_EQ(simulate_scenario(again)->iteration, placed->answer.iteration);
    EXPECT_EQ(simulate_scenario(scenario)->iteration, placed->before.iteration);
}

TEST(PlaceNodes, IsTheSameForASeedAndNoWorseThanTheOrderItBeginsWith) {
    const Scenario scenario = two_pairs({"cluster.node_order=[0, 2, 1, 3]"});
    for (const std::uint64_t seed : {1, 2, 3}) {
        const Result<PlacedNodes> a = place_nodes(scenario, {.tries = 5, .seed = seed});
        const Result<PlacedNodes> b = place_nodes(scenario, {.tries = 5, .seed = seed});
        ASSERT_TRUE(a && b);
        EXPECT_EQ(a->order, b->order);
        EXPECT_LE(a->answer.iteration, a->before.iteration);
    }
}

TEST(PlaceNodes, StopsWhenAsked) {
    int asked = 0;
    PlaceOptions options{.tries = 1000};
    options.stop = [&] { return ++asked > 3; };
    const Result<PlacedNodes> placed = place_nodes(two_pairs(), options);
    ASSERT_TRUE(placed);
    EXPECT_TRUE(placed->interrupted);
    EXPECT_LE(placed->simulations, 4);
}

TEST(PlaceNodes, RefusesWhatHasNoOrder) {
    const auto error = [](const Scenario& scenario) {
        const Result<PlacedNodes> placed = place_nodes(scenario, {.tries = 1});
        return placed ? std::string{} : placed.error().what;
    };
    EXPECT_NE(error(small_scenario("one", {"cluster.nodes=1"})).find("no order"),
              std::string::npos);
    EXPECT_NE(error(small_scenario("part", {"cluster.gpus=6", "plan.global_batch_size=24"}))
                  .find("leave GPUs out"),
              std::string::npos);
    Scenario large = two_pairs();
    large.device.memory = Bytes{1'000'000};
    EXPECT_NE(error(large).find("does not fit"), std::string::npos) << error(large);
}

}  // namespace
}  // namespace orrery
