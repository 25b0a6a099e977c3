// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/tree.h"

#include <gtest/gtest.h>

#include "network/collectives/double_tree.h"
#include "tests/network/collectives/part_checks.h"
#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace tree_test {

constexpr Bandwidth kNic = Bandwidth::bits_per_second(400'000'000'000);
constexpr std::int64_t kBytes = 16 * 1000;

TEST(Tree, NicsCarryTheirDegreeTimesHalfTheirShare) {
    for (const std::uint32_t nodes : {2u, 3u, 5u, 8u}) {
        const auto fabric = built(cluster_of(nodes, dgx_h100(), with_nics(kNic)));
        const auto members = first_ranks(8 * nodes);
        const GroupLayout layout(fabric, members);
        const auto parts = tree_parts(ChannelRouter(fabric, layout, 0), 16, 8);
        expect_well_formed(parts);
        expect_conserved(fabric, parts);
        std::vector<std::int64_t> degree(nodes, 0);
        for (const auto& tree : {first_tree(nodes), second_tree(nodes)}) {
            for (std::uint32_t k = 0; k < nodes; ++k) {
                if (tree[k] != k) {
                    ++degree[k];
                    ++degree[tree[k]];
                }
            }
        }
        for (std::uint32_t node = 0; node < nodes; ++node) {
            const NicPort port{.node = node, .nic = 6};
            EXPECT_EQ(bytes_on_link(parts, fabric.nic_out(port), kBytes),
                      degree[node] * kBytes / (2 * 8));
            EXPECT_EQ(bytes_on_link(parts, fabric.nic_in(port), kBytes),
                      degree[node] * kBytes / (2 * 8));
        }
    }
}

TEST(Tree, InsideANodeItIsAChainBothWays) {
    const auto fabric = built(cluster_of(1, dgx_h100(), with_nics(kNic)));
    const auto members = first_ranks(8);
    const GroupLayout layout(fabric, members);
    const auto parts = tree_parts(ChannelRouter(fabric, layout, 0), 24, 12);
    expect_conserved(fabric, parts);
    std::int64_t sum = 0;
    for (const RankId rank : members) {
        sum += bytes_on_link(parts, fabric.nvlink_out(rank), 24 * 1000);
    }
    EXPECT_EQ(sum, 2 * 7 * 24 * 1000);  // 7 edges, up and down, all bytes
}

TEST(Tree, MeshChainsConserve) {
    const auto fabric = built(cluster_of(2, v100_mesh(), with_nics(kNic)));
    const auto members = first_ranks(16);
    const GroupLayout layout(fabric, members);
    const auto parts = tree_parts(ChannelRouter(fabric, layout, 0), 12, 6);
    expect_well_formed(parts);
    expect_conserved(fabric, parts);
    EXPECT_EQ(channels_of(parts), 12);
}

}  // namespace tree_test
}  // namespace orrery
