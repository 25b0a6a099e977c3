// SPDX-License-Identifier: Apache-2.0
#include "network/packet/sender_window.h"

#include <gtest/gtest.h>

#include <set>

#include "network/packet/draw.h"

namespace orrery::packet {
namespace {

TEST(SenderWindow, KeepsWhatItKnowsWhileItGrows) {
    SenderWindow window;
    for (std::uint32_t s = 5; s < 500; ++s) {
        window.sent(5, s, 1000 + s, s % 3 == 0);
    }
    window.set_state(77, PacketState::lost);
    for (std::uint32_t s = 5; s < 500; ++s) {
        EXPECT_EQ(window.state(s), s == 77 ? PacketState::lost : PacketState::in_flight);
        EXPECT_EQ(window.sent_at(s), 1000 + s);
        EXPECT_EQ(window.repeated(s), s % 3 == 0);
    }
}

// Against a set, with a front that moves over several turns of the ring.
TEST(ReceiverWindow, IsASetOfThePacketsBeyondItsFront) {
    ReceiverWindow window;
    std::set<std::uint32_t> set;
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; i < 20'000; ++i) {
        const auto random = static_cast<std::uint32_t>(mix64(i + 1));
        const std::uint32_t sequence = first + 1 + random % 150;
        window.add(first, sequence);
        set.insert(sequence);
        if (i % 2 == 0) {
            ++first;
            if (set.erase(first) == 1) {
                window.remove(first);
            }
        }
        const std::uint32_t base = first + (random >> 16) % 200;
        std::uint64_t expected = 0;
        for (std::uint32_t bit = 0; bit < 64; ++bit) {
            expected |= std::uint64_t{set.contains(base + bit)} << bit;
        }
        ASSERT_EQ(window.bitmap(first, base), expected) << i;
        ASSERT_EQ(window.has(first, base), set.contains(base)) << i;
    }
}

}  // namespace
}  // namespace orrery::packet
