// SPDX-License-Identifier: Apache-2.0
// Teams part and join without a trace: runs with them (folded, nobody traced) against runs in which
// every rank has its own state, on random programs whose paths through the network are hashed.
#include "engine/teams.h"

#include <gtest/gtest.h>

#include "engine/contention.h"
#include "engine/simulated_executor.h"
#include "network/fluid.h"
#include "tests/engine/random_program.h"
#include "tests/engine/toy_network.h"

namespace orrery {
namespace {

Teams teams_of(const SimulationInput& input) {
    const Tapes tapes = build_tapes(*input.program, input.launch_cost);
    Transfers transfers = plan_transfers(*input.program, tapes, *input.network);
    const std::vector<bool> contended =
        find_contended_links(*input.program, tapes, *input.network, transfers);
    const Partition partition = coarsest_partition(input, transfers, contended);
    FluidRates rates{input.network->links()};
    const Quotient quotient = make_quotient(input, transfers, partition, contended, rates);
    return find_teams(input, tapes, transfers, quotient);
}

SimulationResult run(const SimulationInput& input) {
    FluidRates rates{input.network->links()};
    const SimulationOutcome outcome = simulate(input, rates);
    EXPECT_TRUE(outcome.has_value());
    return outcome ? *outcome : SimulationResult{};
}

void expect_equal(const SimulationResult& a, const SimulationResult& b) {
    EXPECT_EQ(a.step_end, b.step_end);
    EXPECT_EQ(a.slowest_rank, b.slowest_rank);
    EXPECT_EQ(a.critical_path.of, b.critical_path.of);
    EXPECT_EQ(a.busy_sum.of, b.busy_sum.of);
    ASSERT_EQ(a.fold_class_of_rank.size(), b.fold_class_of_rank.size());
    for (std::size_t r = 0; r < a.fold_class_of_rank.size(); ++r) {
        EXPECT_EQ(a.rank_compute[a.fold_class_of_rank[r]], b.rank_compute[b.fold_class_of_rank[r]])
            << "rank " << r;
    }
}

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

TEST(Teams, ChangeNothing) {
    int cases_with_teams = 0;
    for (std::uint64_t seed = 3001; seed <= 4500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomCase c = random_case(seed, false);
        c.network.hashed = true;  // members meet different neighbours on the way
        const ToyNetwork network(c.network);
        c.input.program = &c.program;
        c.input.network = &network;
        c.input.traced_ranks.clear();
        for (const Team& team : teams_of(c.input).teams) {
            if (team.size > 1) {
                ++cases_with_teams;
                break;
            }
        }
        c.input.fold = false;
        const SimulationResult apart = run(c.input);
        c.input.fold = true;
        expect_equal(run(c.input), apart);
    }
    EXPECT_GT(cases_with_teams, 100);
}

}  // namespace
}  // namespace orrery
