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

// With wide ports nothing slows a team's own collectives down (engine/own_time.h).
int expect_no_change(std::uint64_t first, std::uint64_t last, bool wide_ports) {
    int cases_with_teams = 0;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomCase c = random_case(seed, false);
        c.network.hashed = true;  // members meet different neighbours on the way
        if (wide_ports) {
            c.network.port_bps = 8'000'000'000'000;
            c.network.rate_max_bps = 200'000'000'000;
        }
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
    return cases_with_teams;
}

TEST(Teams, ChangeNothing) {
    EXPECT_GT(expect_no_change(3001, 4500, false), 100);
    // One waits for what has ended on a stream that has to wait for its next launch.
    expect_no_change(9046, 9046, false);
}

TEST(Teams, OnTheirOwnTimeChangeNothing) {
    EXPECT_GT(expect_no_change(4501, 6000, true), 100);
}

}  // namespace
}  // namespace orrery
