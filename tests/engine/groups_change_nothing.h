// SPDX-License-Identifier: Apache-2.0
// Random programs with groups (folded, untraced) against the same with every rank on its own.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/world/simulated_executor.h"
#include "network/fluid/fluid.h"
#include "tests/engine/found_groups.h"
#include "tests/engine/random_program.h"
#include "tests/engine/toy_network.h"

namespace orrery {

inline SimulationResult run_fluid(const SimulationInput& input) {
    FluidRates rates{input.network->links()};
    const SimulationOutcome outcome = simulate(input, rates);
    EXPECT_TRUE(outcome.has_value());
    return outcome ? *outcome : SimulationResult{};
}

inline void expect_equal(const SimulationResult& a, const SimulationResult& b) {
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

// With wide ports nothing slows a group's own collectives down (engine/world/local_times.h).
inline int expect_no_change(std::uint64_t first, std::uint64_t last, bool wide_ports) {
    int cases_with_groups = 0;
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
        for (const LockstepGroup& group : lockstep_groups_of(c.input).groups) {
            if (group.size > 1) {
                ++cases_with_groups;
                break;
            }
        }
        c.input.accelerations.fold(false);
        const SimulationResult apart = run_fluid(c.input);
        c.input.accelerations.fold(true);
        expect_equal(run_fluid(c.input), apart);
    }
    return cases_with_groups;
}

}  // namespace orrery
