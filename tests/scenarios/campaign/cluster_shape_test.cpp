// SPDX-License-Identifier: Apache-2.0
#include "scenarios/campaign/cluster_shape.h"

#include <gtest/gtest.h>

#include "scenarios/reader.h"

namespace orrery {
namespace {

ClusterShape shape_with(std::vector<std::string> overrides) {
    const auto scenario = read_scenario(ORRERY_SOURCE_DIR "/scenarios/recovery-plans.yaml",
                                        {.overrides = std::move(overrides)});
    EXPECT_TRUE(scenario) << scenario.error().front().to_string();
    EXPECT_EQ(scenario->campaign.shape, cluster_shape(scenario->cluster, scenario->campaign));
    return scenario->campaign.shape;
}

TEST(ClusterShape, HasTheFabricsSwitches) {
    const ClusterShape shape = shape_with({});
    EXPECT_EQ(shape.nodes, 128u);
    EXPECT_EQ(shape.components(Scope::leaf), 32u);
    EXPECT_EQ(shape.nodes_per_leaf, 32u);
    EXPECT_GT(shape.spines, 0u);
    EXPECT_EQ(shape_with({"cluster.fabric=single-switch-100"}).components(Scope::leaf), 1u);
}

TEST(ClusterShape, KeepsTheDomainsOfTheCampaign) {
    const ClusterShape shape =
        shape_with({"campaign.domains={nodes_per_leaf: 16, nodes_per_pdu: 8}"});
    EXPECT_EQ(shape.components(Scope::leaf), 64u);
    EXPECT_EQ(shape.components(Scope::pdu), 16u);
}

}  // namespace
}  // namespace orrery
