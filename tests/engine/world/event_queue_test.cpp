// SPDX-License-Identifier: Apache-2.0
#include "engine/world/event_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace orrery {
namespace {

using namespace orrery::literals;

TEST(EventQueue, IsEmptyAtFirst) {
    const EventQueue queue;
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.next_time(), Time::max());
}

TEST(EventQueue, KeepsTheOrderOfSchedulingAmongEquals) {
    EventQueue queue;
    queue.schedule(5_ns, 1, 0);
    queue.schedule(3_ns, 2, 7);
    for (std::uint32_t target = 3; target < 40; ++target) {
        queue.schedule(5_ns, target, 0);
    }
    const Event first = queue.pop();
    EXPECT_EQ(first.target, 2u);
    EXPECT_EQ(first.generation, 7u);
    EXPECT_EQ(queue.pop().target, 1u);
    for (std::uint32_t target = 3; target < 40; ++target) {
        EXPECT_EQ(queue.pop().target, target);
    }
    EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, OrdersLikeASortedMapUnderRandomUse) {
    constexpr std::uint64_t kSeed = 7;
    std::mt19937_64 random(kSeed);
    EventQueue queue;
    std::multimap<Time, std::uint32_t> expected;  // inserts equals at the end
    std::int64_t now = 0;
    for (std::uint32_t i = 0; i < 20'000; ++i) {
        if (expected.empty() || random() % 5 < 3) {
            // Near and far, and many at the same time.
            const auto range = std::uint64_t{1} << random() % 40;
            const Time time = Time::picoseconds(now + static_cast<std::int64_t>(random() % range));
            queue.schedule(time, i, 0);
            expected.emplace(time, i);
        } else {
            ASSERT_EQ(queue.next_time(), expected.begin()->first) << "seed " << kSeed;
            ASSERT_EQ(queue.next().target, expected.begin()->second) << "seed " << kSeed;
            now = queue.next_time().picoseconds();
            ASSERT_EQ(queue.pop().target, expected.begin()->second) << "seed " << kSeed;
            expected.erase(expected.begin());
        }
        ASSERT_EQ(queue.size(), expected.size());
    }
}

}  // namespace
}  // namespace orrery
