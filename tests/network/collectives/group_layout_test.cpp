// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/group_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace {

TEST(GroupLayout, OneGpuPerNodeUsesItsOwnNic) {
    const auto fabric = built(cluster_of(4, dgx_h100(), with_nics(Bandwidth::bits_per_second(1))));
    const std::vector<RankId> members{
        to_id<RankId>(3), to_id<RankId>(11), to_id<RankId>(19), to_id<RankId>(27)};
    const GroupLayout layout(fabric, members);
    EXPECT_EQ(
        layout.shape(),
        (NcclGroupShape{.num_nodes = 4, .num_ranks = 4, .gpus_per_node = 1, .nics_per_node = 1}));
    EXPECT_EQ(layout.rail(2, 0).nic, (NicPort{.node = 2, .nic = 3}));
    EXPECT_EQ(layout.rail_rank(2, 0), to_id<RankId>(19));
}

TEST(GroupLayout, RanksFollowTheirPlacement) {
    auto cluster = cluster_of(2, dgx_h100(), with_nics(Bandwidth::bits_per_second(1)));
    cluster.gpu_of_rank = {8, 0, 9, 1};  // even ranks on node 1
    const auto fabric = built(cluster);
    const GroupLayout layout(fabric, first_ranks(4));
    ASSERT_EQ(layout.num_nodes(), 2u);
    EXPECT_EQ(layout.nodes()[0].gpus, (std::vector<RankId>{to_id<RankId>(1), to_id<RankId>(3)}));
    EXPECT_EQ(layout.nodes()[1].gpus, (std::vector<RankId>{to_id<RankId>(0), to_id<RankId>(2)}));
}

TEST(GroupLayout, SharedAndSpareNicsAreCountedOnce) {
    auto cluster = cluster_of(2, dgx_h100(), with_nics(Bandwidth::bits_per_second(1)));
    cluster.fabric.nics_per_node = 4;  // two GPUs share a NIC
    EXPECT_EQ(GroupLayout(built(cluster), first_ranks(16)).num_rails(), 4u);
    cluster.fabric.nics_per_node = 16;  // two NICs a GPU
    EXPECT_EQ(GroupLayout(built(cluster), first_ranks(16)).num_rails(), 16u);
}

ClusterSpec racks(std::uint32_t num_racks) {
    auto cluster = cluster_of(num_racks, dgx_b200(), with_nics(Bandwidth::bits_per_second(1)));
    cluster.node.gpus_per_node = 72;
    cluster.node.trays = 18;
    cluster.fabric.nics_per_node = 72;
    return cluster;
}

TEST(GroupLayout, ARackOfTraysHasTheNicsOfAllItsTrays) {
    const GroupLayout whole(built(racks(2)), first_ranks(144));
    EXPECT_EQ(whole.shape(),
              (NcclGroupShape{
                  .num_nodes = 2, .num_ranks = 144, .gpus_per_node = 72, .nics_per_node = 72}));
    EXPECT_EQ(whole.rail(1, 70).nic, (NicPort{.node = 1, .nic = 70}));
}

// NCCL's rings have as many rails as the smallest part of the job offers.
TEST(GroupLayout, TraysOfAPartlyFilledRackLimitTheRails) {
    ClusterSpec cluster = racks(2);
    cluster.use_gpus(100);
    const GroupLayout uneven(built(cluster), first_ranks(100));
    EXPECT_EQ(uneven.shape(),
              (NcclGroupShape{
                  .num_nodes = 2, .num_ranks = 100, .gpus_per_node = 28, .nics_per_node = 28}));
}

TEST(GroupLayout, MeshCyclesVisitAllGpusOverDisjointLinks) {
    for (std::uint32_t gpus = 2; gpus <= 16; ++gpus) {
        std::set<std::pair<std::uint32_t, std::uint32_t>> used;
        for (std::uint32_t cycle = 0; cycle < num_mesh_rings(gpus); ++cycle) {
            const auto order = mesh_cycle(gpus, cycle);
            EXPECT_EQ(std::set<std::uint32_t>(order.begin(), order.end()).size(), gpus);
            EXPECT_LT(*std::max_element(order.begin(), order.end()), gpus);
            for (std::uint32_t i = 0; i < gpus; ++i) {
                EXPECT_TRUE(used.insert({order[i], order[(i + 1) % gpus]}).second)
                    << gpus << " GPUs, cycle " << cycle;
            }
        }
    }
}

}  // namespace
}  // namespace orrery
