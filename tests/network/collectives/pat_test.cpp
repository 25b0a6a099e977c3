// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/pat.h"

#include <gtest/gtest.h>

#include "tests/network/collectives/part_checks.h"
#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace {

TEST(Pat, RanksSendEveryBlockButOne) {
    EXPECT_EQ(pat_blocks(8, 1), 4u);
    EXPECT_EQ(pat_blocks(8, 2), 2u);
    EXPECT_EQ(pat_blocks(8, 4), 1u);
    for (std::uint32_t n = 2; n <= 300; ++n) {
        std::uint32_t sum = 0;
        for (std::uint32_t d = 1; d < n; d *= 2) {
            sum += pat_blocks(n, d);
        }
        EXPECT_EQ(sum, n - 1) << n;
    }
}

TEST(Pat, NicsCarryEveryBlockButOne) {
    for (const bool ecmp : {false, true}) {
        auto cluster = ecmp_cluster(8, dgx_h100());
        cluster.fabric.routing = ecmp ? RoutingKind::ecmp : RoutingKind::spray;
        const auto fabric = built(cluster);
        std::vector<RankId> members;
        for (std::size_t node = 0; node < 8; ++node) {
            members.push_back(to_id<RankId>(8 * node + 5));
        }
        const GroupLayout layout(fabric, members);
        const ChannelRouter router(fabric, layout, 0);
        for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
            const auto parts = pat_parts(router, kind, 4, 2);
            expect_well_formed(parts);
            expect_conserved(fabric, parts);
            EXPECT_EQ(channels_of(parts), 4);
            const NicPort port{.node = 6, .nic = 5};
            EXPECT_EQ(bytes_on_link(parts, fabric.nic_out(port), 32'000), 28'000);
            EXPECT_EQ(bytes_on_link(parts, fabric.nic_in(port), 32'000), 28'000);
        }
    }
}

}  // namespace
}  // namespace orrery
