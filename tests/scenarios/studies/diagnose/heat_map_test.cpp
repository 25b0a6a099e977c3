// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/diagnose/heat_map.h"

#include <gtest/gtest.h>

#include "scenarios/report/checks_report.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

TEST(HeatMap, NamesANodeAllOfWhoseDevicesAreSlow) {
    const HeatMap map =
        heat_map("x", {1, 1, 1.2, 1.2, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0}, {}, 2);
    EXPECT_EQ(map.slow, (std::vector<std::string>{"node 1: 1.20 times its peers, all 2 devices"}));
}

TEST(HeatMap, NamesADeviceAmongHealthyOnes) {
    const HeatMap map = heat_map("x", {1, 1, 1, 1.1, 1, 1}, {0, 0, 0, 0, 0, 0}, {}, 2);
    EXPECT_EQ(map.slow, (std::vector<std::string>{"node 1, device 1: 1.10 times its peers"}));
}

// A stage with more layers is no slow host.
TEST(HeatMap, ComparesRanksOfOneRole) {
    EXPECT_TRUE(heat_map("x", {1, 1, 2, 2}, {0, 0, 1, 1}, {}, 1).slow.empty());
    EXPECT_EQ(heat_map("x", {1, 1, 1, 2, 2, 3}, {0, 0, 0, 1, 1, 1}, {}, 1).slow.size(), 1u);
}

TEST(HeatMap, FollowsThePlacement) {
    const HeatMap map = heat_map("x", {1, 1, 1, 1.5}, {0, 0, 0, 0}, {3, 2, 1, 0}, 2);
    EXPECT_EQ(map.slow, (std::vector<std::string>{"node 0, device 0: 1.50 times its peers"}));
}

TEST(HeatMap, FindsTheSlowHostOfASimulatedStep) {
    Scenario scenario = small_scenario("slow", {"plan.tensor_model_parallel_size=2"});
    EXPECT_TRUE(heat_map_of(scenario)->slow.empty());
    scenario.faults.processes = {{.name = "slow",
                                  .kind = FaultKind::slow_host,
                                  .at = {Scope::node, 1},
                                  .once = WallTime{},
                                  .factor = 1.1}};
    // Of two nodes the median is the healthy one's.
    const auto map = heat_map_of(scenario);
    ASSERT_TRUE(map);
    ASSERT_EQ(map->slow.size(), 1u);
    EXPECT_TRUE(map->slow[0].starts_with("node 1: 1.1")) << map->slow[0];
    EXPECT_NE(to_text(heat_map_sections(*map)).find("node 1"), std::string::npos);
    EXPECT_NE(to_html(heat_map_sections(*map)).find("node 1"), std::string::npos);
}

}  // namespace
}  // namespace orrery
