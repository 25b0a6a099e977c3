// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/channel_router.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace {

TEST(ChannelRouter, LabelsTellFlowsApart) {
    std::set<std::uint64_t> labels;
    for (std::size_t from = 0; from < 20; ++from) {
        for (std::size_t to = 0; to < 20; ++to) {
            for (std::uint32_t channel = 0; channel < 4; ++channel) {
                for (std::uint64_t purpose = 0; purpose < 3; ++purpose) {
                    labels.insert(
                        flow_label(to_id<RankId>(from), to_id<RankId>(to), channel, purpose));
                }
            }
        }
    }
    EXPECT_EQ(labels.size(), 20u * 20 * 4 * 3);
}

TEST(ChannelRouter, PathsDifferOnlyWhereSwitchesHash) {
    auto cluster = ecmp_cluster(8, dgx_h100());
    cluster.fabric.qps_per_connection = 2;
    const auto hashed = built(cluster);
    const auto near = first_ranks(32);  // one leaf set
    const auto far = first_ranks(64);
    const GroupLayout near_layout(hashed, near);
    const GroupLayout far_layout(hashed, far);
    EXPECT_FALSE(ChannelRouter(hashed, near_layout, 0).paths_differ());
    EXPECT_EQ(ChannelRouter(hashed, near_layout, 0).queue_pairs(), 1u);
    EXPECT_TRUE(ChannelRouter(hashed, far_layout, 0).paths_differ());
    EXPECT_EQ(ChannelRouter(hashed, far_layout, 0).queue_pairs(), 2u);
    cluster.fabric.routing = RoutingKind::static_rail;
    const auto fixed = built(cluster);
    const GroupLayout fixed_layout(fixed, far);
    EXPECT_FALSE(ChannelRouter(fixed, fixed_layout, 0).paths_differ());
}

TEST(ChannelRouter, CyclesStartAtTheRailsGpu) {
    const auto fabric = built(ecmp_cluster(2, dgx_h100()));
    const auto members = first_ranks(16);
    const GroupLayout layout(fabric, members);
    const ChannelRouter router(fabric, layout, 0);
    const auto order = router.cycle(1, 6, 0);
    EXPECT_EQ(order.front(), to_id<RankId>(14));
    EXPECT_EQ(order[2], to_id<RankId>(8));
    EXPECT_EQ(order.size(), 8u);
}

}  // namespace
}  // namespace orrery
