// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/nvls.h"

#include <gtest/gtest.h>

#include "tests/network/collectives/part_checks.h"
#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace nvls_test {

constexpr Bandwidth kNic = Bandwidth::bits_per_second(400'000'000'000);

TEST(Nvls, PortsCarryTheVectorAndOneSlice) {
    const auto fabric = built(cluster_of(1, dgx_h100(), with_nics(kNic)));
    const auto members = first_ranks(8);
    const GroupLayout layout(fabric, members);
    const ChannelRouter router(fabric, layout, 0);
    const auto out = fabric.nvlink_out(to_id<RankId>(3));
    const auto in = fabric.nvlink_in(to_id<RankId>(3));
    const auto reduce = nvls_parts(router, CollectiveKind::all_reduce);
    expect_well_formed(reduce);
    EXPECT_EQ(bytes_on_link(reduce, out, 8000), 9000);
    EXPECT_EQ(bytes_on_link(reduce, in, 8000), 9000);
    const auto gather = nvls_parts(router, CollectiveKind::all_gather);
    EXPECT_EQ(bytes_on_link(gather, out, 8000), 1000);
    EXPECT_EQ(bytes_on_link(gather, in, 8000), 8000);
    const auto scatter = nvls_parts(router, CollectiveKind::reduce_scatter);
    EXPECT_EQ(bytes_on_link(scatter, out, 8000), 8000);
    EXPECT_EQ(bytes_on_link(scatter, in, 8000), 1000);
}

TEST(NvlsTree, TwoNodesExchangeEachSliceOnce) {
    const auto fabric = built(cluster_of(2, dgx_h100(), with_nics(kNic)));
    const auto members = first_ranks(16);
    const GroupLayout layout(fabric, members);
    const auto parts = nvls_tree_parts(ChannelRouter(fabric, layout, 0), 16);
    expect_well_formed(parts);
    const std::int64_t bytes = 16 * 8 * 100;
    for (std::uint32_t nic = 0; nic < 8; ++nic) {
        const NicPort port{.node = 1, .nic = nic};
        EXPECT_EQ(bytes_on_link(parts, fabric.nic_out(port), bytes), bytes / 8);
        EXPECT_EQ(bytes_on_link(parts, fabric.nic_in(port), bytes), bytes / 8);
    }
    EXPECT_EQ(bytes_on_link(parts, fabric.nvlink_out(to_id<RankId>(12)), bytes), bytes * 9 / 8);
    EXPECT_EQ(bytes_on_link(parts, fabric.nvlink_in(to_id<RankId>(12)), bytes), bytes * 9 / 8);
}

TEST(NvlsTree, NicsCarryAtMostTwiceTheirSlice) {
    const auto fabric = built(cluster_of(7, dgx_h100(), with_nics(kNic)));
    const auto members = first_ranks(56);
    const GroupLayout layout(fabric, members);
    const auto parts = nvls_tree_parts(ChannelRouter(fabric, layout, 0), 16);
    const std::int64_t bytes = 16 * 8 * 100;
    std::int64_t sum = 0;
    for (std::uint32_t node = 0; node < 7; ++node) {
        const auto carried =
            bytes_on_link(parts, fabric.nic_out(NicPort{.node = node, .nic = 0}), bytes);
        EXPECT_LE(carried, 2 * bytes / 8);
        sum += carried;
    }
    // 6 edges a tree, both directions, half of the slice each.
    EXPECT_EQ(sum, 2 * 6 * 2 * bytes / 16);
}

}  // namespace nvls_test
}  // namespace orrery
