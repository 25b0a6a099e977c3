// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/switch_tree.h"

#include <gtest/gtest.h>

#include <set>

#include "network/fabric/clos.h"
#include "network/fabric/rail.h"
#include "tests/network/fabric_samples.h"

namespace orrery {
namespace {

using namespace orrery::literals;

TEST(SwitchTree, LeafNumbersAndPositionsNameEachNicOnce) {
    ClusterSpec spec = samples::a100_cluster(4 * 3 * 2);
    spec.fabric.nodes_per_leaf_set = 4;
    spec.fabric.leaf_sets_per_pod = 3;
    for (const auto make : {clos_tree, rail_tree}) {
        const auto tree = make(spec);
        ASSERT_TRUE(tree) << tree.error().to_string();
        std::set<std::uint32_t> numbers;
        std::set<std::uint32_t> blocks;
        for (std::uint32_t node = 0; node < spec.num_nodes; ++node) {
            for (std::uint32_t nic = 0; nic < 8; ++nic) {
                const NicPort port{.node = node, .nic = nic};
                const std::uint32_t leaf = tree->leaf_of(port);
                numbers.insert(tree->leaf_number(leaf) * tree->nics_per_leaf() +
                               tree->index_under_leaf(port));
                blocks.insert(tree->block_of(leaf));
                EXPECT_EQ(tree->leaf_number(leaf) / tree->leaves_per_block(), tree->block_of(leaf));
            }
        }
        EXPECT_EQ(numbers.size(), 4U * 3 * 2 * 8);
        EXPECT_EQ(*numbers.rbegin(), numbers.size() - 1);
        EXPECT_EQ(blocks.size(), tree->num_blocks);
    }
}

// Two racks of 18 trays with 4 NICs each are 36 servers for the fabric.
TEST(SwitchTree, TraysOfANodeAreServersOfTheFabric) {
    ClusterSpec spec = samples::a100_cluster(2);
    spec.node.gpus_per_node = 72;
    spec.node.trays = 18;
    spec.fabric.nics_per_node = 72;
    spec.fabric.nodes_per_leaf_set = 6;
    ClusterSpec servers = spec;
    servers.num_nodes = 36;
    servers.node.gpus_per_node = 4;
    servers.node.trays = 1;
    servers.fabric.nics_per_node = 4;
    for (const auto make : {clos_tree, rail_tree}) {
        const auto tree = make(spec);
        const auto apart = make(servers);
        ASSERT_TRUE(tree && apart);
        EXPECT_EQ(tree->num_leaves, apart->num_leaves);
        EXPECT_EQ(tree->num_links(), apart->num_links());
        EXPECT_EQ(tree->leaf_uplinks(), apart->leaf_uplinks());
        for (std::uint32_t nic = 0; nic < 2 * 72; ++nic) {
            const NicPort in_rack{.node = nic / 72, .nic = nic % 72};
            const NicPort of_tray{.node = nic / 4, .nic = nic % 4};
            EXPECT_EQ(tree->on_server(in_rack), of_tray);
            EXPECT_EQ(tree->leaf_of(in_rack), apart->leaf_of(of_tray));
            EXPECT_EQ(tree->index_under_leaf(in_rack), apart->index_under_leaf(of_tray));
            EXPECT_EQ(tree->nic_link(in_rack), apart->nic_link(of_tray));
        }
    }
}

TEST(SwitchTree, PathsMultiplyOverTiersAndParallelCables) {
    ClusterSpec spec = samples::a100_cluster(64);
    spec.fabric.nodes_per_leaf_set = 8;
    spec.fabric.leaf_sets_per_pod = 2;
    spec.fabric.uplink_cables = 2;
    spec.fabric.core_cables = 4;
    const auto tree = clos_tree(spec);
    ASSERT_TRUE(tree) << tree.error().to_string();
    EXPECT_EQ(tree->leaf_uplinks(), 8U);
    EXPECT_EQ(tree->tier2_uplinks(), 32U);
    EXPECT_EQ(tree->num_paths({0, 0}, {0, 0}), 0U);
    EXPECT_EQ(tree->num_paths({0, 0}, {7, 0}), 1U);
    EXPECT_EQ(tree->num_paths({0, 0}, {0, 1}), 8U * 2);
    EXPECT_EQ(tree->num_paths({0, 0}, {16, 0}), 8U * 32 * 4 * 2);
}

TEST(SwitchTree, NumbersThatCannotBeAreErrorsThatNameThem) {
    const auto refused = [](auto change) {
        ClusterSpec spec = samples::a100_cluster(64);
        change(spec.fabric);
        const auto tree = clos_tree(spec);
        return tree ? std::string("accepted") : tree.error().what;
    };
    const auto contains = [](const std::string& text, const char* part) {
        return text.find(part) != std::string::npos;
    };
    EXPECT_PRED2(contains, refused([](auto& f) { f.nics_per_node = 0; }), "nics_per_node");
    EXPECT_PRED2(contains, refused([](auto& f) { f.nic_bandwidth = {}; }), "nic_bandwidth");
    EXPECT_PRED2(contains, refused([](auto& f) { f.nodes_per_leaf_set = 0; }), "nodes_per_leaf");
    EXPECT_PRED2(contains, refused([](auto& f) { f.leaf_sets_per_pod = 0; }), "leaf_sets_per_pod");
    EXPECT_PRED2(contains, refused([](auto& f) { f.oversubscription = 0; }), "oversubscription");
    EXPECT_PRED2(contains, refused([](auto& f) { f.oversubscription = -1; }), "oversubscription");
    EXPECT_PRED2(contains, refused([](auto& f) { f.oversubscription = 100; }), "0.32 uplinks");
    EXPECT_PRED2(contains, refused([](auto& f) { f.uplink_cables = 48; }), "multiples of 48");
    EXPECT_PRED2(contains, refused([](auto& f) { f.efficiency = 1.5; }), "efficiency");
    EXPECT_PRED2(contains, refused([](auto& f) { f.qps_per_connection = 0; }), "qps_per");
    EXPECT_PRED2(contains, refused([](auto& f) { f.link_latency = Time{} - 1_ns; }), "latency");
    EXPECT_PRED2(contains, refused([](auto& f) { f.nodes_per_leaf_set = 1U << 20; }), "too large");
    EXPECT_EQ(refused([](auto&) {}), "accepted");
}

}  // namespace
}  // namespace orrery
