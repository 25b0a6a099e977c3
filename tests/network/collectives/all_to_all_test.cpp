// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/all_to_all.h"

#include <gtest/gtest.h>

#include "tests/network/collectives/part_checks.h"
#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace {

constexpr Bandwidth kNic = Bandwidth::bits_per_second(400'000'000'000);

// Both ways of counting: up to 64 ranks, and more.
TEST(AllToAll, NicsCarryWhatGoesToOtherNodes) {
    for (const std::uint32_t nodes : {2u, 4u, 12u}) {
        const auto fabric = built(cluster_of(nodes, dgx_h100(), with_nics(kNic)));
        const std::uint32_t n = 8 * nodes;
        const auto members = first_ranks(n);
        const GroupLayout layout(fabric, members);
        const auto parts = all_to_all_parts(fabric, layout, 0);
        expect_well_formed(parts);
        expect_conserved(fabric, parts);
        ASSERT_EQ(parts.size(), 1u);
        const std::int64_t bytes = std::int64_t{n} * 100;
        const NicPort port{.node = 1, .nic = 4};
        EXPECT_EQ(bytes_on_link(parts, fabric.nic_out(port), bytes), (n - 8) * 100);
        EXPECT_EQ(bytes_on_link(parts, fabric.nic_in(port), bytes), (n - 8) * 100);
        // Out of a GPU over NVLink: to its 7 neighbours, and 7/8 of what changes rails.
        EXPECT_EQ(bytes_on_link(parts, fabric.nvlink_out(to_id<RankId>(2)), bytes),
                  700 + (n - 8) * 7 / 8 * 100);
    }
}

TEST(AllToAll, OneNodeSendsToSevenNeighbours) {
    const auto fabric = built(cluster_of(1, dgx_h100(), with_nics(kNic)));
    const auto members = first_ranks(8);
    const auto parts = all_to_all_parts(fabric, GroupLayout(fabric, members), 0);
    EXPECT_EQ(parts[0].footprint.size(), 16u);
    EXPECT_EQ(bytes_on_link(parts, fabric.nvlink_in(to_id<RankId>(0)), 800), 700);
}

}  // namespace
}  // namespace orrery
