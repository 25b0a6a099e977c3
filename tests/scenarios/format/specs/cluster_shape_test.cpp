// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/specs/cluster_shape.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"

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

// Each of 128 NVLink domains is a rack of two trays, which are the servers.
TEST(ClusterShape, CountsTraysOfNvlinkDomains) {
    const std::vector<std::string> racks{
        "cluster.node={base: gb200-nvl72, gpus_per_node: 8, "
        "trays: 2, nics_per_tray: 4}",
        "cluster.fabric=ndr400-rail",
        "plan.attention_kernel=flash_2"};
    const ClusterShape shape = shape_with(racks);
    EXPECT_EQ(shape.nodes, 256u);
    EXPECT_EQ(shape.gpus_per_node, 4u);
    EXPECT_EQ(shape.nics_per_node, 4u);
    EXPECT_EQ(shape.components(Scope::rack), 128u);
    EXPECT_EQ(shape.nodes_per_leaf, 32u);
    EXPECT_EQ(shape.leaves_per_set, 4u);
    EXPECT_EQ(shape.components(Scope::leaf), 32u);
    std::vector<std::string> pairs = racks;
    pairs.push_back("campaign.domains={nodes_per_rack: 4}");
    EXPECT_EQ(shape_with(pairs).components(Scope::rack), 64u);
}

// 128 GPUs of which the job has 124: its 31 trays can fail.
TEST(ClusterShape, LeavesOutTraysThatTheJobLeavesOut) {
    const std::vector<std::string> racks{
        "cluster.node={base: gb200-nvl72, gpus_per_node: 64, trays: 16}",
        "cluster.nodes=16",
        "cluster.fabric=ndr400-rail",
        "cluster.gpus=992",
        "plan.global_batch_size=992",
        "plan.attention_kernel=flash_2"};
    const ClusterShape shape = shape_with(racks);
    EXPECT_EQ(shape.nodes, 248u);
    EXPECT_EQ(shape.components(Scope::gpu), 992u);
    EXPECT_EQ(shape.components(Scope::rack), 16u);
    EXPECT_EQ(nodes_of(shape, {Scope::rack, 15}), (NodeRange{240, 8}));
}

TEST(ClusterShape, KeepsTheDomainsOfTheCampaign) {
    const ClusterShape shape =
        shape_with({"campaign.domains={nodes_per_leaf: 16, nodes_per_pdu: 8}"});
    EXPECT_EQ(shape.components(Scope::leaf), 64u);
    EXPECT_EQ(shape.components(Scope::pdu), 16u);
}

}  // namespace
}  // namespace orrery
