// SPDX-License-Identifier: Apache-2.0
// The simulated executor against the reference, to the picosecond, on programs of several parties:
// jobs with programs of their own that share a network, start at different times and make different
// numbers of steps.
#include <gtest/gtest.h>

#include "engine/world/simulated_executor.h"
#include "network/fluid/fluid.h"
#include "tests/reference/drawn_accelerations.h"
#include "tests/reference/random_jobs.h"
#include "tests/reference/reference_executor.h"
#include "tests/reference/trace_difference.h"

namespace orrery::reference {
namespace {

// Compares at the first difference; true if there is none.
bool agree(const Jobs& jobs, std::uint64_t seed) {
    const SimulationOutcome expected = reference_simulate(jobs.input({}));
    EXPECT_TRUE(expected.has_value()) << expected.error().to_string();
    for (const Accelerations& chosen :
         {accelerations_of(0), Accelerations{}, drawn_accelerations(seed, false)}) {
        SCOPED_TRACE(describe(chosen));
        FluidRates rates{jobs.network->links()};
        const SimulationOutcome actual = simulate(jobs.input(chosen), rates);
        EXPECT_TRUE(actual.has_value()) << actual.error().to_string();
        if (!expected || !actual) {
            return false;
        }
        EXPECT_EQ(first_difference(expected->trace, actual->trace), "");
        EXPECT_EQ(actual->parties.size(), expected->parties.size());
        for (std::size_t p = 0; p < actual->parties.size(); ++p) {
            EXPECT_EQ(actual->parties[p].step_end, expected->parties[p].step_end) << "party " << p;
            EXPECT_EQ(actual->parties[p].iteration, expected->parties[p].iteration);
            EXPECT_EQ(actual->parties[p].slowest_rank, expected->parties[p].slowest_rank);
        }
        EXPECT_EQ(actual->simulated_ops, expected->simulated_ops);
        if (testing::Test::HasFailure()) {
            return false;
        }
    }
    return true;
}

TEST(Parties, ExecutorsAgreeOnEveryOpOfJobsThatShareANetwork) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        if (!agree(random_jobs(seed, seed % 3 == 0 ? 3 : 2, seed % 2 == 0), seed)) {
            return;
        }
    }
}

// Jobs that could not be told from each other alone would agree as well.
TEST(Parties, JobsOnOneNetworkSlowEachOtherDown) {
    int slower = 0;
    int later = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Jobs jobs = random_jobs(seed, 2, false);
        FluidRates rates{jobs.network->links()};
        const SimulationOutcome together = simulate(jobs.input({}), rates);
        ASSERT_TRUE(together.has_value()) << together.error().to_string();
        SimulationInput input = jobs.input({});
        // The second job starts when the first has ended.
        input.runs[1].start =
            together->parties[0].step_end.back() + Time::picoseconds(1'000'000'000);
        FluidRates rates_alone{jobs.network->links()};
        const SimulationOutcome alone = simulate(input, rates_alone);
        ASSERT_TRUE(alone.has_value()) << alone.error().to_string();
        ASSERT_LT(alone->parties[0].step_end.back(), input.runs[1].start);
        slower += together->parties[0].step_end.back() > alone->parties[0].step_end.back() ? 1 : 0;
        later += alone->parties[1].step_end.front() > input.runs[1].start ? 1 : 0;
    }
    EXPECT_GE(slower, 5);
    EXPECT_EQ(later, 40);
}

}  // namespace
}  // namespace orrery::reference
