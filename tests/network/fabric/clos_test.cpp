// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/clos.h"

#include <gtest/gtest.h>

#include "network/fabric/fabric.h"
#include "tests/network/fabric_graph.h"
#include "tests/network/fabric_samples.h"

namespace orrery {
namespace {

using namespace orrery::literals;

std::uint32_t leaf_vertex(const Fabric& fabric, NicPort port) {
    return fabric.link_ends()[index(fabric.nic_out(port))].to;
}

TEST(Clos, MegascaleHasThirtyTwoUplinksOfTwoNicsEach) {
    const auto tree = clos_tree(samples::megascale(1536));
    ASSERT_TRUE(tree) << tree.error().to_string();
    EXPECT_EQ(tree->num_leaves, 24U * 8U);
    EXPECT_EQ(tree->nics_per_leaf(), 64U);
    EXPECT_EQ(tree->leaf_uplinks(), 32U);
    EXPECT_EQ(tree->uplink, 400_Gbps);
    EXPECT_EQ(tree->num_blocks, 6U);
    EXPECT_EQ(tree->leaves_per_block(), 32U);
    EXPECT_EQ(tree->tier2_uplinks(), 32U);
}

TEST(Clos, NicIOfANodeIsOnTorIOfItsSet) {
    const auto fabric = build_fabric(samples::megascale(130));
    ASSERT_TRUE(fabric);
    const auto leaf = [&](std::uint32_t node, std::uint32_t nic) {
        return leaf_vertex(*fabric, {.node = node, .nic = nic});
    };
    for (std::uint32_t nic = 0; nic < 8; ++nic) {
        EXPECT_EQ(leaf(0, nic), leaf(63, nic));
        EXPECT_NE(leaf(63, nic), leaf(64, nic));
        EXPECT_EQ(leaf(64, nic), leaf(127, nic));
        for (std::uint32_t other = 0; other < nic; ++other) {
            EXPECT_NE(leaf(5, nic), leaf(5, other));
        }
    }
}

TEST(Clos, SingleRailPutsAllNicsOfANodeOnOneTor) {
    ClusterSpec spec = samples::a100_cluster(64);
    spec.fabric.multi_rail = false;
    spec.fabric.tiers = 2;
    spec.fabric.nodes_per_leaf_set = 4;
    const auto fabric = build_fabric(spec);
    ASSERT_TRUE(fabric) << fabric.error().to_string();
    EXPECT_EQ(fabric->tree().num_leaves, 16U);
    EXPECT_EQ(fabric->tree().nics_per_leaf(), 32U);
    EXPECT_EQ(leaf_vertex(*fabric, {7, 0}), leaf_vertex(*fabric, {4, 7}));
    EXPECT_NE(leaf_vertex(*fabric, {7, 0}), leaf_vertex(*fabric, {8, 0}));
}

// Port counts from the graph: n ToRs of 32 NICs and 32 uplinks below 32 spines of n ports.
TEST(Clos, LeafSpineHasTheLiteraturesPortCounts) {
    ClusterSpec spec = samples::a100_cluster(128);
    spec.fabric.tiers = 2;
    const auto fabric = build_fabric(spec);
    ASSERT_TRUE(fabric);
    const FabricGraph graph(*fabric, GraphScope::switches);
    const std::uint32_t first_leaf = leaf_vertex(*fabric, {0, 0});
    ASSERT_EQ(fabric->num_vertices() - first_leaf, 32U + 32U);
    for (std::uint32_t leaf = first_leaf; leaf < first_leaf + 32; ++leaf) {
        EXPECT_EQ(graph.num_ports(leaf), 64U);
    }
    for (std::uint32_t spine = first_leaf + 32; spine < fabric->num_vertices(); ++spine) {
        EXPECT_EQ(graph.num_ports(spine), 32U);
        EXPECT_EQ(graph.out_capacity(spine), 200_Gbps * 32);
    }
}

// Sum of what a class can carry upwards: half of its links point up.
std::int64_t upward_gbps(const Fabric& fabric, LinkClass link_class) {
    std::int64_t sum = 0;
    for (const LinkInfo& link : fabric.links()) {
        if (link.link_class == static_cast<std::uint16_t>(link_class)) {
            sum += link.capacity.bits_per_second() / 1'000'000'000;
        }
    }
    return sum / 2;
}

TEST(Clos, FullBisectionCarriesEveryNicOverEveryTier) {
    const auto fabric = build_fabric(samples::megascale(1536));
    ASSERT_TRUE(fabric);
    EXPECT_EQ(upward_gbps(*fabric, LinkClass::nic), 12288 * 200);
    EXPECT_EQ(upward_gbps(*fabric, LinkClass::leaf_uplink), 12288 * 200);
    EXPECT_EQ(upward_gbps(*fabric, LinkClass::core_uplink), 12288 * 200);
}

TEST(Clos, OversubscriptionDividesTheCapacityAboveItsTier) {
    for (const auto routing : {RoutingKind::ecmp, RoutingKind::spray}) {
        ClusterSpec spec = samples::a100_cluster(1024);
        spec.fabric.oversubscription = 4;
        spec.fabric.spine_oversubscription = 2;
        spec.fabric.routing = routing;
        const auto fabric = build_fabric(spec);
        ASSERT_TRUE(fabric) << fabric.error().to_string();
        EXPECT_EQ(upward_gbps(*fabric, LinkClass::nic), 8192 * 200);
        EXPECT_EQ(upward_gbps(*fabric, LinkClass::leaf_uplink), 8192 * 200 / 4);
        EXPECT_EQ(upward_gbps(*fabric, LinkClass::core_uplink), 8192 * 200 / 8);
    }
}

// Llama 3's 1:7 does not divide 64 links: 9 are nearest.
TEST(Clos, RoundsUplinksUnlessNoneWouldBeLeft) {
    ClusterSpec spec = samples::a100_cluster(1024);
    spec.fabric.spine_oversubscription = 7;
    const auto tree = clos_tree(spec);
    ASSERT_TRUE(tree);
    EXPECT_EQ(tree->tier2_uplinks(), 9U);
    spec.fabric.spine_oversubscription = 45;  // 1.42 links
    EXPECT_EQ(clos_tree(spec)->tier2_uplinks(), 1U);
    spec.fabric.spine_oversubscription = 150;  // 0.43 links
    const auto refused = clos_tree(spec);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().what.find("spine_oversubscription 150"), std::string::npos);
    EXPECT_NE(refused.error().hint.find("64"), std::string::npos) << refused.error().hint;
}

TEST(Clos, ASwitchWithTooFewPortsIsAnError) {
    ClusterSpec spec = samples::megascale(1536);
    EXPECT_TRUE(clos_tree(spec));
    spec.fabric.switch_radix = 63;
    ASSERT_FALSE(clos_tree(spec));
    EXPECT_NE(clos_tree(spec).error().what.find("leaf switch needs 64 ports"), std::string::npos);
    spec.fabric.switch_radix = 64;
    spec.fabric.leaf_sets_per_pod = 5;
    ASSERT_FALSE(clos_tree(spec));
    EXPECT_NE(clos_tree(spec).error().what.find("aggregation switch needs 80"), std::string::npos);
}

TEST(Clos, TiersOtherThanTwoAndThreeAreAnError) {
    ClusterSpec spec = samples::a100_cluster(8);
    for (const std::uint32_t tiers : {0U, 1U, 4U}) {
        spec.fabric.tiers = tiers;
        ASSERT_FALSE(clos_tree(spec));
        EXPECT_FALSE(clos_tree(spec).error().hint.empty());
    }
}

TEST(Clos, AClusterWithinOnePodHasNoCores) {
    ClusterSpec spec = samples::megascale(256);
    EXPECT_EQ(clos_tree(spec)->num_cores(), 0U);
    spec.num_nodes = 257;
    EXPECT_EQ(clos_tree(spec)->num_cores(), 32U * 32U);
}

TEST(SingleSwitch, ConnectsAllNicsAndNothingElse) {
    ClusterSpec spec = samples::a100_cluster(100);
    spec.fabric.kind = FabricKind::single_switch;
    const auto fabric = build_fabric(spec);
    ASSERT_TRUE(fabric);
    const FabricGraph graph(*fabric, GraphScope::switches);
    EXPECT_EQ(graph.num_ports(leaf_vertex(*fabric, {0, 0})), 800U);
    EXPECT_EQ(leaf_vertex(*fabric, {99, 7}), fabric->num_vertices() - 1);
    EXPECT_EQ(fabric->num_paths({0, 0}, {99, 7}), 1U);
}

}  // namespace
}  // namespace orrery
