// SPDX-License-Identifier: Apache-2.0
// Who is in a team with whom. That teams change no time is execution_teams_test's matter.
#include "engine/teams.h"

#include <gtest/gtest.h>

#include "tests/engine/found_teams.h"
#include "tests/engine/random_program.h"
#include "tests/engine/toy_network.h"

namespace orrery {
namespace {

TEST(Teams, HaveEveryRankClassOnce) {
    for (std::uint64_t seed = 2001; seed <= 2100; ++seed) {
        RandomCase c = random_case(seed, false);
        const ToyNetwork network(c.network);
        c.input.program = &c.program;
        c.input.network = &network;
        c.input.traced_ranks.clear();
        const Teams teams = teams_of(c.input);
        std::vector<int> seen(teams.team_of.size(), 0);
        for (std::size_t t = 0; t < teams.teams.size(); ++t) {
            std::uint32_t place = 0;
            for (const std::uint32_t m : teams.members_of(teams.teams[t])) {
                EXPECT_EQ(teams.team_of[m], t) << "seed " << seed;
                EXPECT_EQ(teams.place[m], place++) << "seed " << seed;
                ++seen[m];
            }
        }
        EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << "seed " << seed;
    }
}

TEST(Teams, ATracedRankIsOnItsOwn) {
    for (std::uint64_t seed = 2001; seed <= 2100; ++seed) {
        RandomCase c = random_case(seed, false);
        const ToyNetwork network(c.network);
        c.input.program = &c.program;
        c.input.network = &network;
        c.input.traced_ranks.clear();
        for (std::uint32_t r = 0; r < c.program.num_ranks(); ++r) {
            c.input.traced_ranks.push_back(to_id<RankId>(r));
        }
        for (const Team& team : teams_of(c.input).teams) {
            EXPECT_EQ(team.size, 1u) << "seed " << seed;
        }
    }
}

}  // namespace
}  // namespace orrery
