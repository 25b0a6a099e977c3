// SPDX-License-Identifier: Apache-2.0
// Which rank classes form a group. lockstep_test checks that groups change no time.
#include "engine/world/lockstep_groups.h"

#include <gtest/gtest.h>

#include "tests/engine/found_groups.h"
#include "tests/engine/random_program.h"
#include "tests/engine/toy_network.h"

namespace orrery {
namespace {

TEST(LockstepGroups, HaveEveryRankClassOnce) {
    for (std::uint64_t seed = 2001; seed <= 2100; ++seed) {
        RandomCase c = random_case(seed, false);
        const ToyNetwork network(c.network);
        c.input.program = &c.program;
        c.input.network = &network;
        c.input.traced_ranks.clear();
        const LockstepGroups groups = lockstep_groups_of(c.input);
        Table<RankClassId, int> seen(groups.group_of.size(), 0);
        for (const LockstepGroupId t : groups.groups.ids()) {
            std::uint32_t place = 0;
            for (const RankClassId m : groups.members_of(groups.groups[t])) {
                EXPECT_EQ(groups.group_of[m], t) << "seed " << seed;
                EXPECT_EQ(groups.place[m], place++) << "seed " << seed;
                ++seen[m];
            }
        }
        EXPECT_EQ(seen, (Table<RankClassId, int>(seen.size(), 1))) << "seed " << seed;
    }
}

TEST(LockstepGroups, ATracedRankIsOnItsOwn) {
    for (std::uint64_t seed = 2001; seed <= 2100; ++seed) {
        RandomCase c = random_case(seed, false);
        const ToyNetwork network(c.network);
        c.input.program = &c.program;
        c.input.network = &network;
        c.input.traced_ranks.clear();
        for (std::uint32_t r = 0; r < c.program.num_ranks(); ++r) {
            c.input.traced_ranks.push_back(to_id<RankId>(r));
        }
        for (const LockstepGroup& group : lockstep_groups_of(c.input).groups) {
            EXPECT_EQ(group.size, 1u) << "seed " << seed;
        }
    }
}

}  // namespace
}  // namespace orrery
