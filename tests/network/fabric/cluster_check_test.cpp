// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/cluster_check.h"

#include <gtest/gtest.h>

#include "tests/network/mixed_clusters.h"

namespace orrery {
namespace {

using namespace orrery::literals;

std::string place_of(const ClusterSpec& spec) {
    const auto checked = check_cluster(spec);
    return checked ? "" : checked.error().where;
}

TEST(ClusterCheck, TheNodesOfEveryKindAreChecked) {
    ClusterSpec spec = two_kinds(1, dgx_h100(), 1, dgx_a100());
    EXPECT_EQ(place_of(spec), "");
    spec.kinds[1].node.pcie_bandwidth = {};
    EXPECT_EQ(place_of(spec), "cluster.node.pcie_bandwidth");
    spec = two_kinds(1, dgx_h100(), 1, dgx_a100());
    spec.kinds[1].node.nvlink_bandwidth = {};
    EXPECT_EQ(place_of(spec), "cluster.node.nvlink_bandwidth");
    spec = two_kinds(1, dgx_h100(), 1, dgx_a100());
    spec.kinds[1].node.num_sockets = 3;
    EXPECT_EQ(place_of(spec), "cluster.node.num_sockets");
}

TEST(ClusterCheck, MemoryTiersAreWhole) {
    const ClusterSpec bare = cluster_of(1, dgx_a100(), with_nics(200_Gbps));
    ClusterSpec spec = bare;
    spec.node.c2c_bandwidth = 1_GBps;
    EXPECT_EQ(place_of(spec), "cluster.node.host_memory");
    spec.node.host_memory = 1_GiB;
    EXPECT_EQ(place_of(spec), "");
    spec.node.nvme_drives = 2;
    spec.node.nvme_read_bandwidth = 1_GBps;
    EXPECT_EQ(place_of(spec), "cluster.node.nvme_drives");
    spec.node.nvme_write_bandwidth = 1_GBps;
    EXPECT_EQ(place_of(spec), "");
    spec.node.nvme_drives = 0;
    EXPECT_EQ(place_of(spec), "cluster.node.nvme_drives");
    spec = bare;
    spec.node.host_memory = Bytes{-1};
    EXPECT_EQ(place_of(spec), "cluster.node");
}

TEST(ClusterCheck, PlacesAreGpusOfTheCluster) {
    ClusterSpec spec = cluster_of(1, dgx_a100(), with_nics(200_Gbps));
    spec.gpu_of_rank = {0, 1, 8};
    EXPECT_EQ(place_of(spec), "cluster");
    spec.gpu_of_rank = {0, 1, 1};
    EXPECT_EQ(place_of(spec), "cluster");
    spec.gpu_of_rank = {0, 7, 1};
    EXPECT_EQ(place_of(spec), "");
}

TEST(ClusterCheck, GivesTheSwitchesThatAllNodesHangOn) {
    const auto tree = checked_tree(two_kinds(3, dgx_h100(), 2, dgx_a100()));
    ASSERT_TRUE(tree);
    EXPECT_EQ(tree->num_nodes, 5U);
    EXPECT_EQ(tree->num_leaves, 1U);
}

}  // namespace
}  // namespace orrery
