// SPDX-License-Identifier: Apache-2.0
#include "engine/world/rank_states.h"

#include <gtest/gtest.h>

#include "tests/engine/small_plan.h"

namespace orrery {
namespace rank_states_test {

using namespace small_runs;

TEST(RankStates, AStreamKnowsItsRankAndItsItems) {
    const SmallPlan small;
    const RankStates states(*small.plan);
    EXPECT_EQ(states.num_streams, 3u);
    for (const RankClassId r : IdRange<RankClassId>{4}) {
        for (std::uint32_t s = 0; s < 3; ++s) {
            const RankStreamId id = states.stream_of(r, s);
            EXPECT_EQ(states.rank_of(id), r);
            EXPECT_EQ(states.member_of(id), r);
            EXPECT_EQ(states.streams[id].stream, s);
            EXPECT_EQ(states.leading(id), id);
        }
    }
    const RankStreamId net = states.stream_of(RankClassId{1}, kNet);
    EXPECT_EQ(&states.item_of(net), &states.streams[net].tape->items[0]);
    EXPECT_TRUE(states.streams[net].slows_kernels);  // its collectives could hold SMs
}

TEST(RankStates, AFollowersStreamIsItsLeaders) {
    const SmallPlan small;
    RankStates states(*small.plan);
    states.leader[RankClassId{1}] = RankClassId{0};
    EXPECT_TRUE(states.follows(RankClassId{1}));
    EXPECT_EQ(states.leading(states.stream_of(RankClassId{1}, kNet)),
              states.stream_of(RankClassId{0}, kNet));
}

TEST(RankStates, ARankWithRunsNamesTheirStreams) {
    const SmallPlan small;
    RankStates states(*small.plan);
    states.ranks[RankClassId{2}].running = 0b101;
    std::vector<RankStreamId> found;
    states.for_each_run(RankClassId{2}, [&](RankStreamId id) { found.push_back(id); });
    EXPECT_EQ(
        found,
        (std::vector{states.stream_of(RankClassId{2}, 0), states.stream_of(RankClassId{2}, 2)}));
}

}  // namespace rank_states_test
}  // namespace orrery
