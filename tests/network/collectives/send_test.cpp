// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/send.h"

#include <gtest/gtest.h>

#include "tests/network/collectives/part_checks.h"
#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace {

RankId rank(std::size_t i) {
    return to_id<RankId>(i);
}

TEST(Send, InsideANodeIsOneFlow) {
    const auto fabric = built(ecmp_cluster(2, dgx_h100()));
    const auto parts = send_parts(fabric, rank(1), rank(6), 8);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(bytes_on_link(parts, fabric.nvlink_out(rank(1)), 1000), 1000);
    EXPECT_EQ(bytes_on_link(parts, fabric.nvlink_in(rank(6)), 1000), 1000);
}

TEST(Send, ChannelsAndQueuePairsSplitTheBytes) {
    auto cluster = ecmp_cluster(16, dgx_h100());
    cluster.fabric.qps_per_connection = 4;
    const auto fabric = built(cluster);
    const auto parts = send_parts(fabric, rank(3), rank(8 * 9 + 3), 2);
    expect_well_formed(parts);
    EXPECT_GT(parts.size(), 1u);
    EXPECT_EQ(channels_of(parts), 8);
    EXPECT_EQ(bytes_on_link(parts, fabric.nic_out(NicPort{.node = 0, .nic = 3}), 8000), 8000);
    EXPECT_EQ(bytes_on_link(parts, fabric.nic_in(NicPort{.node = 9, .nic = 3}), 8000), 8000);
    EXPECT_EQ(bytes_on_link(parts, fabric.nvlink_out(rank(3)), 8000), 0);
    // The same message takes the same paths in every run.
    const auto again = send_parts(fabric, rank(3), rank(8 * 9 + 3), 2);
    ASSERT_EQ(again.size(), parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(again[i].footprint, parts[i].footprint);
    }
}

TEST(Send, ToAnotherRailGoesOverNvlinkFirst) {
    const auto fabric = built(ecmp_cluster(2, dgx_h100()));
    const auto parts = send_parts(fabric, rank(1), rank(8 + 6), 2);
    EXPECT_EQ(bytes_on_link(parts, fabric.nvlink_out(rank(1)), 1000), 1000);
    EXPECT_EQ(bytes_on_link(parts, fabric.nvlink_in(rank(6)), 1000), 1000);
    EXPECT_EQ(bytes_on_link(parts, fabric.nic_out(NicPort{.node = 0, .nic = 6}), 1000), 1000);
    EXPECT_EQ(bytes_on_link(parts, fabric.nic_out(NicPort{.node = 0, .nic = 1}), 1000), 0);
    // Without NVLink it leaves by the sender's own NIC.
    const auto plain = built(ecmp_cluster(2, pcie_server()));
    const auto direct = send_parts(plain, rank(1), rank(8 + 6), 2);
    EXPECT_EQ(bytes_on_link(direct, plain.nic_out(NicPort{.node = 0, .nic = 1}), 1000), 1000);
}

}  // namespace
}  // namespace orrery
