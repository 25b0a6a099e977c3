// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/ring.h"

#include <gtest/gtest.h>

#include <string>

#include "network/collectives/tree.h"
#include "tests/network/collectives/part_checks.h"
#include "tests/network/dgx_clusters.h"
#include "tests/network/fabric_samples.h"

namespace orrery {
namespace ring_test {

constexpr std::int64_t kBytes = std::int64_t{1} << 30;
constexpr Bandwidth kNic = Bandwidth::bits_per_second(400'000'000'000);

std::vector<PartShape> parts_on(const Fabric& fabric,
                                std::uint32_t ranks,
                                std::uint32_t channels,
                                std::uint32_t found) {
    const auto members = first_ranks(ranks);
    const GroupLayout layout(fabric, members);
    const ChannelRouter router(fabric, layout, 0);
    auto parts = ring_parts(router, channels, found);
    expect_well_formed(parts);
    expect_conserved(fabric, parts);
    return parts;
}

TEST(Ring, EdgesCarryTwoPassesLessOneBlockEach) {
    EXPECT_EQ(ring_edge_bytes(CollectiveKind::all_reduce, 800, 8), 2 * 700);
    EXPECT_EQ(ring_edge_bytes(CollectiveKind::all_gather, 800, 8), 700);
    EXPECT_EQ(ring_edge_bytes(CollectiveKind::reduce_scatter, 800, 8), 700);
    EXPECT_EQ(ring_edge_bytes(CollectiveKind::broadcast, 800, 8), 800);
    EXPECT_EQ(ring_edge_bytes(CollectiveKind::all_gather, 1, 8), 1);
}

TEST(Ring, OneNodeIsOnePartWithEveryPortLoadedOncePerChannel) {
    const auto fabric = built(cluster_of(1, dgx_h100(), with_nics(kNic)));
    const auto parts = parts_on(fabric, 8, 24, 12);
    ASSERT_EQ(parts.size(), 1u);
    ASSERT_EQ(parts[0].footprint.size(), 16u);
    for (const auto& share : parts[0].footprint) {
        EXPECT_EQ(share.count, 24u);
    }
    const std::int64_t edge = 24 * 1000;
    EXPECT_EQ(bytes_on_link(parts, fabric.nvlink_out(to_id<RankId>(5)), edge), edge);
}

TEST(Ring, NicsShareTheBytesOfTheEdges) {
    const auto fabric = built(cluster_of(4, dgx_h100(), with_nics(kNic)));
    const auto parts = parts_on(fabric, 32, 16, 8);
    EXPECT_EQ(parts.size(), 8u);  // one a rail
    const std::int64_t edge = ring_edge_bytes(CollectiveKind::all_reduce, kBytes, 32);
    for (std::uint32_t node = 0; node < 4; ++node) {
        for (std::uint32_t nic = 0; nic < 8; ++nic) {
            const NicPort port{.node = node, .nic = nic};
            EXPECT_NEAR(static_cast<double>(bytes_on_link(parts, fabric.nic_out(port), edge)),
                        2.0 * 31 / 32 * kBytes / 8,
                        16);
            EXPECT_EQ(bytes_on_link(parts, fabric.nic_in(port), edge),
                      bytes_on_link(parts, fabric.nic_out(port), edge));
        }
    }
    // Each GPU's NVLink carries one edge a channel, the way back to the NIC's GPU included.
    EXPECT_NEAR(
        static_cast<double>(bytes_on_link(parts, fabric.nvlink_out(to_id<RankId>(9)), edge)),
        static_cast<double>(edge),
        16);
}

TEST(Ring, OneGpuPerNodeUsesNoNvlink) {
    const auto fabric = built(cluster_of(4, dgx_h100(), with_nics(kNic)));
    const std::vector<RankId> members{
        to_id<RankId>(3), to_id<RankId>(11), to_id<RankId>(19), to_id<RankId>(27)};
    const GroupLayout layout(fabric, members);
    const auto parts = ring_parts(ChannelRouter(fabric, layout, 0), 4, 2);
    expect_conserved(fabric, parts);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].multiplicity, 4u);
    EXPECT_EQ(bytes_on_link(parts, fabric.nvlink_out(members[0]), 1000), 0);
    EXPECT_EQ(bytes_on_link(parts, fabric.nic_out(fabric.nic_of(members[0])), 1000), 1000);
}

TEST(Ring, ChannelsWithPathsToChooseFromGoTheirOwnWays) {
    auto cluster = ecmp_cluster(8, dgx_h100());
    const auto fabric = built(cluster);
    const auto parts = parts_on(fabric, 64, 16, 8);
    EXPECT_GT(parts.size(), 8u);
    EXPECT_EQ(channels_of(parts), 16);
    // Two queue pairs a connection: every part counts NICs twice, and the bytes are the same.
    cluster.fabric.qps_per_connection = 2;
    const auto split_fabric = built(cluster);
    const auto split = parts_on(split_fabric, 64, 16, 8);
    const NicPort port{.node = 5, .nic = 2};
    EXPECT_EQ(bytes_on_link(split, split_fabric.nic_out(port), 32'000), 4'000);
    EXPECT_EQ(bytes_on_link(parts, fabric.nic_out(port), 32'000), 4'000);
    // Sprayed packets meet no choice: one part a rail.
    cluster.fabric.routing = RoutingKind::spray;
    EXPECT_EQ(parts_on(built(cluster), 64, 16, 8).size(), 8u);
}

TEST(Ring, MeshRingsUseDifferentLinks) {
    const auto fabric = built(cluster_of(1, v100_mesh(), with_nics(kNic)));
    const auto parts = parts_on(fabric, 8, 12, 6);
    EXPECT_EQ(parts.size(), 6u);
    std::vector<int> rings_on_link(fabric.links().size(), 0);
    for (const auto& part : parts) {
        EXPECT_EQ(part.footprint.size(), 8u);
        for (const auto& share : part.footprint) {
            EXPECT_EQ(++rings_on_link[index(share.link)], 1);
        }
    }
}

TEST(Ring, PcieServersSendFromTheLastGpu) {
    const auto fabric = built(cluster_of(2, pcie_server(), with_nics(kNic)));
    const auto parts = parts_on(fabric, 16, 2, 1);
    // In and out of each GPU once a channel: no way back inside the node.
    EXPECT_EQ(bytes_on_link(parts, fabric.pcie_out(to_id<RankId>(7)), 1000), 1000);
    EXPECT_EQ(bytes_on_link(parts, fabric.pcie_out(to_id<RankId>(0)), 1000), 1000);
    EXPECT_EQ(bytes_on_link(parts, fabric.pcie_in(to_id<RankId>(8)), 1000), 1000);
}

// Any cluster, any members, any number of channels: what enters a device leaves it, and each NIC
// sends what it receives.
TEST(Ring, ConservesOnRandomFabricsWithRandomMembers) {
    int tried = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        samples::Random random(seed);
        auto cluster = samples::random_cluster(random, static_cast<FabricKind>(random.in(0, 2)));
        cluster.node.num_sockets = 1;  // an unlimited socket link is no link
        cluster.fabric.qps_per_connection = random.in(1, 3);
        cluster.fabric.routing = static_cast<RoutingKind>(random.in(0, 2));
        const auto fabric = build_fabric(cluster);
        if (!fabric.has_value()) {
            continue;
        }
        std::vector<RankId> members;
        for (std::uint32_t rank = 0; rank < fabric->num_ranks(); ++rank) {
            if (random.in(0, 3) > 0) {
                members.push_back(to_id<RankId>(rank));
            }
        }
        if (members.size() < 2) {
            continue;
        }
        ++tried;
        const GroupLayout layout(*fabric, members);
        const ChannelRouter router(*fabric, layout, seed);
        const std::uint32_t found = random.in(1, 8);
        for (const auto& parts :
             {ring_parts(router, 2 * found, found), tree_parts(router, 2 * found, found)}) {
            expect_conserved(*fabric, parts);
            EXPECT_EQ(channels_of(parts), 2 * found);
        }
    }
    EXPECT_GT(tried, 75);
}

}  // namespace ring_test
}  // namespace orrery
