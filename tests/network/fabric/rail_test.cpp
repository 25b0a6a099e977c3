// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/rail.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "network/fabric/fabric.h"
#include "tests/network/fabric_samples.h"

namespace orrery {
namespace {

using namespace orrery::literals;

ClusterSpec superpod(std::uint32_t nodes, std::uint32_t tiers) {
    ClusterSpec spec = samples::a100_cluster(nodes);
    spec.fabric.kind = FabricKind::rail;
    spec.fabric.tiers = tiers;
    spec.fabric.nodes_per_leaf_set = 20;
    spec.fabric.leaf_sets_per_pod = 7;
    spec.fabric.multi_rail = false;  // ignored: a rail fabric always is
    return spec;
}

std::size_t switch_hops(const Fabric& fabric, NicPort from, NicPort to) {
    Path path;
    fabric.route_nics(from, to, 1, path);
    return path.links.size() - 1;
}

TEST(Rail, SameRailOfAScalableUnitCrossesOneSwitch) {
    for (const std::uint32_t tiers : {2U, 3U}) {
        const auto fabric = build_fabric(superpod(140, tiers));
        ASSERT_TRUE(fabric) << fabric.error().to_string();
        for (std::uint32_t nic = 0; nic < 8; ++nic) {
            EXPECT_EQ(switch_hops(*fabric, {0, nic}, {19, nic}), 1U);
            EXPECT_EQ(switch_hops(*fabric, {0, nic}, {20, nic}), 3U);
        }
    }
}

TEST(Rail, ChangingTheRailCostsTwoMoreHopsOverTheCores) {
    const auto two = build_fabric(superpod(140, 2));
    const auto three = build_fabric(superpod(140, 3));
    EXPECT_EQ(switch_hops(*two, {0, 0}, {0, 1}), 3U);
    EXPECT_EQ(switch_hops(*three, {0, 0}, {0, 1}), 5U);
    EXPECT_EQ(switch_hops(*three, {0, 0}, {139, 7}), 5U);
    EXPECT_EQ(switch_hops(*three, {0, 3}, {139, 3}), 3U) << "one pod: the rail's own spines";
}

TEST(Rail, ThreeTiersHaveOneSpineGroupPerRailAndPod) {
    const auto tree = rail_tree(superpod(280, 3));
    ASSERT_TRUE(tree);
    EXPECT_EQ(tree->num_leaves, 14U * 8U);
    EXPECT_EQ(tree->num_blocks, 2U * 8U);
    EXPECT_EQ(tree->leaves_per_block(), 7U);
    EXPECT_EQ(tree->leaf_uplinks(), 20U);
    EXPECT_EQ(tree->tier2_uplinks(), 7U);
}

TEST(Rail, PxnKeepsTheNetworkPartOnTheReceiversRail) {
    const auto fabric = build_fabric(superpod(140, 3));
    Path path;
    fabric->route_pxn(RankId{0}, RankId{8 + 5}, 1, path);
    // NVLink out and in, PCIe out, NIC up and down under rail leaf 5, PCIe in.
    const std::vector<LinkId> expected = {
        fabric->nvlink_out(RankId{0}),
        fabric->nvlink_in(RankId{5}),
        fabric->pcie_out(RankId{5}),
        fabric->nic_out({0, 5}),
        fabric->nic_in({1, 5}),
        fabric->pcie_in(RankId{13}),
    };
    EXPECT_EQ(path.links, expected);
    Path same_rail;
    Path plain;
    fabric->route_pxn(RankId{0}, RankId{16}, 1, same_rail);
    fabric->route(RankId{0}, RankId{16}, 1, plain);
    EXPECT_EQ(same_rail, plain);
}

// A job on 12 GPUs of two servers has no GPU beside NICs 4 to 7 of the second one.
TEST(Rail, PxnLeavesAloneWhatTheJobDoesNotHave) {
    ClusterSpec spec = superpod(2, 3);
    spec.use_gpus(12);
    const auto fabric = build_fabric(spec);
    ASSERT_TRUE(fabric);
    const auto way = fabric->way_out(RankId{8}, RankId{5});
    EXPECT_EQ(way.gpu, 0U);
    EXPECT_EQ(way.nic, (NicPort{.node = 1, .nic = 0}));
    EXPECT_EQ(fabric->way_out(RankId{0}, RankId{8 + 3}).nic, (NicPort{.node = 0, .nic = 3}));
    Path path;
    fabric->route_pxn(RankId{8}, RankId{5}, 1, path);
    const auto uses = [&](LinkId link) { return std::ranges::count(path.links, link); };
    EXPECT_EQ(uses(fabric->nic_out({1, 0})), 1);
    EXPECT_EQ(uses(fabric->nic_out({1, 5})), 0);
    EXPECT_EQ(uses(fabric->nic_in({0, 5})), 1);
}

TEST(Rail, TiersOtherThanTwoAndThreeAreAnError) {
    EXPECT_FALSE(rail_tree(superpod(20, 1)));
    EXPECT_FALSE(rail_tree(superpod(20, 4)));
}

}  // namespace
}  // namespace orrery
