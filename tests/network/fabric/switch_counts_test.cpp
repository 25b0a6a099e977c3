// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/switch_counts.h"

#include <gtest/gtest.h>

#include "network/fabric/cable_list.h"
#include "tests/network/fabric_samples.h"

namespace orrery {
namespace {

TEST(SwitchCounts, AreThoseOfTheTree) {
    ClusterSpec spec = samples::a100_cluster(64);
    spec.fabric.nodes_per_leaf_set = 16;
    spec.fabric.tiers = 2;
    const auto tree = fabric_tree(spec);
    ASSERT_TRUE(tree) << tree.error().to_string();
    const SwitchCounts counts = count_switches(spec);
    EXPECT_EQ(counts.nodes_per_set, 16u);
    EXPECT_EQ(counts.leaves_per_set, 8u);
    EXPECT_EQ(counts.spines, tree->num_tier2());
    EXPECT_GT(counts.spines, 0u);
    spec.fabric.multi_rail = false;
    EXPECT_EQ(count_switches(spec).leaves_per_set, 1u);
    spec.fabric.kind = FabricKind::single_switch;
    EXPECT_EQ(count_switches(spec), (SwitchCounts{.nodes_per_set = 64}));
}

TEST(SwitchCounts, CountTraysAsServers) {
    ClusterSpec spec = samples::a100_cluster(64);
    spec.node.trays = 2;
    spec.fabric.nodes_per_leaf_set = 16;
    const auto tree = fabric_tree(spec);
    ASSERT_TRUE(tree) << tree.error().to_string();
    EXPECT_EQ(tree->num_leaves, 32u);
    const SwitchCounts counts = count_switches(spec);
    EXPECT_EQ(counts.nodes_per_set, 16u);
    EXPECT_EQ(counts.leaves_per_set, 4u);
    spec.fabric.kind = FabricKind::single_switch;
    EXPECT_EQ(count_switches(spec), (SwitchCounts{.nodes_per_set = 128}));
    // A number of NICs that the trays can't share, as a scenario with errors may have.
    spec.node.trays = 18;
    spec.fabric.kind = FabricKind::clos;
    EXPECT_EQ(count_switches(spec), (SwitchCounts{.nodes_per_set = 64 * 18}));
}

TEST(SwitchCounts, OfAFabricThatCannotBeThereIsOneLeaf) {
    ClusterSpec spec = samples::a100_cluster(64);
    spec.fabric.nodes_per_leaf_set = 0;
    EXPECT_EQ(count_switches(spec), (SwitchCounts{.nodes_per_set = 64}));
}

// Four nodes of two NICs, each on a switch of its own rail; a third switch joins both.
TEST(SwitchCounts, OfListedCablesLeavesAreSwitchesWithNics) {
    using namespace orrery::literals;
    std::vector<NamedCable> cables;
    const auto cable = [&](std::string from, std::string to) {
        cables.push_back({.from = std::move(from),
                          .to = std::move(to),
                          .bandwidth = Bandwidth::bits_per_second(100'000'000'000),
                          .latency = {},
                          .where = "c.csv"});
    };
    for (int node = 0; node < 4; ++node) {
        cable("node " + std::to_string(node) + " nic 0", "left");
        cable("node " + std::to_string(node) + " nic 1", "right");
    }
    cable("left", "top");
    cable("right", "top");
    const auto list = CableList::make(cables, "c.csv", 4, 2);
    ASSERT_TRUE(list) << list.error().front().to_string();
    ClusterSpec spec = samples::a100_cluster(4);
    spec.fabric.kind = FabricKind::file;
    spec.fabric.nics_per_node = 2;
    spec.fabric.cables = *list;
    EXPECT_EQ(count_switches(spec),
              (SwitchCounts{.nodes_per_set = 4, .leaves_per_set = 2, .spines = 1}));
    spec.node.trays = 2;  // of one NIC each: a tray has one leaf
    EXPECT_EQ(count_switches(spec),
              (SwitchCounts{.nodes_per_set = 4, .leaves_per_set = 1, .spines = 1}));
}

}  // namespace
}  // namespace orrery
