// SPDX-License-Identifier: Apache-2.0
#include "engine/program/participants.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace orrery {
namespace {

std::vector<RankStreamId> all(const Participants& participants) {
    return {participants.begin(), participants.end()};
}

TEST(Participants, KeepTheirOrderHoweverManyTheyAre) {
    Participants participants;
    std::vector<RankStreamId> expected;
    for (std::uint32_t i = 0; i < 9; ++i) {
        participants.push_back(RankStreamId{100 - i});
        expected.push_back(RankStreamId{100 - i});
        ASSERT_EQ(all(participants), expected);
        ASSERT_EQ(participants.size(), expected.size());
        ASSERT_EQ(participants.front(), RankStreamId{100});
    }
    participants.clear();
    EXPECT_TRUE(all(participants).empty());
    participants.push_back(RankStreamId{RankStreamId{7}});
    EXPECT_EQ(all(participants), std::vector<RankStreamId>{RankStreamId{7}});
}

}  // namespace
}  // namespace orrery
