// SPDX-License-Identifier: Apache-2.0
#include "engine/participants.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace orrery {
namespace {

std::vector<std::uint32_t> all(const Participants& participants) {
    return {participants.begin(), participants.end()};
}

TEST(Participants, KeepTheirOrderHoweverManyTheyAre) {
    Participants participants;
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < 9; ++i) {
        participants.push_back(100 - i);
        expected.push_back(100 - i);
        ASSERT_EQ(all(participants), expected);
        ASSERT_EQ(participants.size(), expected.size());
        ASSERT_EQ(participants.front(), 100u);
    }
    participants.clear();
    EXPECT_TRUE(all(participants).empty());
    participants.push_back(7);
    EXPECT_EQ(all(participants), std::vector<std::uint32_t>{7});
}

TEST(Participants, FewAreLeftOfMany) {
    for (std::uint32_t count = 0; count < 7; ++count) {
        for (std::uint32_t kept = 0; kept <= count; ++kept) {
            Participants participants;
            std::vector<std::uint32_t> expected;
            for (std::uint32_t i = 0; i < count; ++i) {
                participants.push_back(i);
            }
            participants.erase_if([&](std::uint32_t i) { return i >= kept; });
            for (std::uint32_t i = 0; i < kept; ++i) {
                expected.push_back(i);
            }
            ASSERT_EQ(all(participants), expected);
            for (std::uint32_t i = 0; i < 4; ++i) {  // and from there on
                participants.push_back(50 + i);
                expected.push_back(50 + i);
            }
            ASSERT_EQ(all(participants), expected);
        }
    }
}

}  // namespace
}  // namespace orrery
