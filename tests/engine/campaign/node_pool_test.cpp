// SPDX-License-Identifier: Apache-2.0
#include "engine/campaign/node_pool.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(NodePool, CrewsTakeWhoComesFirst) {
    NodePool pool{5, 4, 1};
    std::vector<Repair> begun;
    pool[0].sick = true;
    pool.send_to_repair(0, WallTime::seconds(10), WallTime::seconds(5), begun);
    pool.send_to_repair(1, WallTime::seconds(11), WallTime::seconds(7), begun);
    pool.send_to_repair(4, WallTime::seconds(12), WallTime::seconds(1), begun);
    ASSERT_EQ(begun.size(), 1u);
    EXPECT_EQ(begun[0].end, WallTime::seconds(15));
    EXPECT_EQ(pool.count(NodePlace::repair), 3u);
    begun.clear();
    pool.repaired(0, WallTime::seconds(15), begun);
    ASSERT_EQ(begun.size(), 1u);
    EXPECT_EQ(begun[0].node, 1u);
    EXPECT_EQ(begun[0].end, WallTime::seconds(22));
    EXPECT_EQ(pool[0].place, NodePlace::spare);
    EXPECT_EQ(pool[0].repairs, 1u);
    EXPECT_FALSE(pool[0].sick);
    EXPECT_EQ(pool.count(NodePlace::job), 2u);
    EXPECT_EQ(pool.count(NodePlace::spare), 1u);
}

TEST(NodePool, WithoutALimitEverybodyIsRepairedAtOnce) {
    NodePool pool{8, 8, 0};
    std::vector<Repair> begun;
    for (NodeNumber node = 0; node < 8; ++node) {
        pool.send_to_repair(node, WallTime{}, WallTime::seconds(1), begun);
    }
    EXPECT_EQ(begun.size(), 8u);
}

}  // namespace
}  // namespace orrery
