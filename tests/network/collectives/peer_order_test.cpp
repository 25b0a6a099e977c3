// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/peer_order.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace orrery {
namespace {

using Order = std::vector<std::uint32_t>;

TEST(PeerOrder, IsNccls) {
    EXPECT_EQ(nccl_peer_order(6), (Order{0, 1, 3, 2, 5, 4}));
    EXPECT_EQ(nccl_peer_order(8), (Order{0, 1, 3, 6, 2, 7, 5, 4}));
    EXPECT_EQ(nccl_peer_order(16),
              (Order{0, 1, 3, 6, 10, 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8}));
    EXPECT_EQ(nccl_peer_order(1), Order{0});
}

TEST(PeerOrder, MeetsEveryPeerOnce) {
    for (std::uint32_t ranks = 0; ranks < 300; ++ranks) {
        Order all(ranks);
        std::iota(all.begin(), all.end(), 0u);
        Order met = nccl_peer_order(ranks);
        std::ranges::sort(met);
        EXPECT_EQ(met, all);
    }
}

}  // namespace
}  // namespace orrery
