// SPDX-License-Identifier: Apache-2.0
#include "network/packet/event_wheel.h"

#include <gtest/gtest.h>

#include <map>

#include "network/packet/draw.h"

namespace orrery::packet {
namespace {

// Increments of `spread`: from many events at one instant to timers far beyond the wheel.
std::int64_t increment(std::uint64_t random, int spread) {
    switch (spread) {
        case 0:
            return static_cast<std::int64_t>(random % 3) * 83'000;  // hosts in lock-step
        case 1:
            return static_cast<std::int64_t>(random % 2'000'000);
        case 2:
            return static_cast<std::int64_t>(random % 20 == 0 ? 1'000'000'000 : random % 400'000);
        default:
            return static_cast<std::int64_t>(random % 1'000'000'000'000);
    }
}

// The same hold model on the wheel and on the simplest structure with the same order.
TEST(EventWheel, PopsInTheOrderOfASortedMap) {
    for (int spread = 0; spread < 4; ++spread) {
        SCOPED_TRACE(spread);
        EventWheel wheel;
        std::multimap<std::int64_t, std::uint32_t> map;  // equal keys keep their order
        std::uint64_t state = 7;
        std::uint32_t next = 0;
        const auto add = [&](std::int64_t now) {
            state = mix64(state + 0x9e3779b97f4a7c15);
            const std::int64_t time = now + increment(state, spread);
            wheel.schedule(time, next, 0);
            map.emplace(time, next++);
        };
        for (int i = 0; i < 3'000; ++i) {
            add(0);
        }
        for (int i = 0; i < 100'000; ++i) {
            ASSERT_EQ(wheel.size(), map.size());
            if (i % 7 == 0) {  // peeking moves the wheel on; what comes then must still be in time
                ASSERT_EQ(wheel.next_time(), map.begin()->first);
            }
            const WheelEvent event = wheel.pop();
            ASSERT_EQ(event.time, map.begin()->first) << i;
            ASSERT_EQ(event.target, map.begin()->second) << i;
            map.erase(map.begin());
            if (i < 97'000) {
                add(event.time);
            }
        }
        EXPECT_TRUE(wheel.empty());
    }
}

TEST(EventWheel, TakesAnEventBeforeTheOneThatItHasPeekedAt) {
    EventWheel wheel;
    wheel.schedule(5'000'000'000, 1, 0);
    EXPECT_EQ(wheel.next_time(), 5'000'000'000);
    wheel.schedule(10, 2, 0);
    wheel.schedule(4'999'999'999, 3, 0);
    wheel.schedule(10, 4, 0);
    EXPECT_EQ(wheel.pop().target, 2U);
    EXPECT_EQ(wheel.pop().target, 4U);
    EXPECT_EQ(wheel.pop().target, 3U);
    EXPECT_EQ(wheel.pop().target, 1U);
}

}  // namespace
}  // namespace orrery::packet
