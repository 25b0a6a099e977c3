// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/node_order.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using Numbers = std::vector<std::uint32_t>;

ClusterSpec three_nodes() {
    ClusterSpec cluster{.num_nodes = 3};
    cluster.node.gpus_per_node = 2;
    return cluster;
}

TEST(NodeOrder, GpusFollowTheirNodes) {
    EXPECT_EQ(gpus_of_nodes(Numbers{2, 0, 1}, 2), (Numbers{4, 5, 0, 1, 2, 3}));
    EXPECT_TRUE(gpus_of_nodes({}, 2).empty());
}

TEST(NodeOrder, IsReadBackFromTheRanks) {
    ClusterSpec cluster = three_nodes();
    EXPECT_EQ(node_order_of(cluster), (Numbers{0, 1, 2}));
    cluster.gpu_of_rank = gpus_of_nodes(Numbers{2, 0, 1}, 2);
    EXPECT_EQ(node_order_of(cluster), (Numbers{2, 0, 1}));
}

TEST(NodeOrder, RanksOfPartsOfNodesHaveNone) {
    ClusterSpec cluster = three_nodes();
    cluster.use_gpus(5);
    EXPECT_TRUE(node_order_of(cluster).empty());
    cluster.gpu_of_rank = {0, 2, 1, 3, 4, 5};
    EXPECT_TRUE(node_order_of(cluster).empty());
}

}  // namespace
}  // namespace orrery
