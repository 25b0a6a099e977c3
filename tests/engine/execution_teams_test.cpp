// SPDX-License-Identifier: Apache-2.0
// Teams part and join without a trace: runs with them (folded, nobody traced) against runs in which
// every rank has its own state, on random programs whose paths through the network are hashed.
#include <gtest/gtest.h>

#include "engine/simulated_executor.h"
#include "network/fluid.h"
#include "tests/engine/found_teams.h"
#include "tests/engine/random_program.h"
#include "tests/engine/toy_network.h"

namespace orrery {
namespace {

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
