// SPDX-License-Identifier: Apache-2.0
// The simulated executor against the reference, to the picosecond, on random programs: folded and
// unfolded, every op of every rank where there are few, the steps' ends where there are many.
// ORRERY_AGREE_SEED=n runs only the cases of that seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "engine/world/simulated_executor.h"
#include "network/fluid/fluid.h"
#include "network/fluid/uncontended.h"
#include "tests/reference/drawn_accelerations.h"
#include "tests/reference/random_program.h"
#include "tests/reference/reference_executor.h"
#include "tests/reference/trace_difference.h"

namespace orrery::reference {
namespace {

std::unique_ptr<SharedRates> rates_for(const NetworkModel& network) {
    if (network.has_contention()) {
        return std::make_unique<FluidRates>(network.links());
    }
    return std::make_unique<UncontendedRates>(network.links());
}

bool is_selected(std::uint64_t seed) {
    const char* only = std::getenv("ORRERY_AGREE_SEED");
    return only == nullptr || std::strtoull(only, nullptr, 10) == seed;
}

// Compares at the first difference; true if there is none.
bool agree(const RandomCase& random, bool trace_all) {
    const SimulationOutcome expected = reference_simulate(random.input(false, trace_all));
    EXPECT_TRUE(expected.has_value()) << expected.error().to_string();
    for (const Accelerations& chosen :
         {accelerations_of(0), Accelerations{}, drawn_accelerations(random.options.seed, false)}) {
        SCOPED_TRACE(random.describe() + ", " + describe(chosen));
        SimulationInput input = random.input(true, trace_all);
        input.accelerations = chosen;
        input.accelerations.step_barrier = false;  // all steps are compared
        const std::unique_ptr<SharedRates> rates = rates_for(*random.network);
        const SimulationOutcome actual = simulate(input, *rates);
        EXPECT_TRUE(actual.has_value()) << actual.error().to_string();
        if (!expected || !actual) {
            return false;
        }
        EXPECT_EQ(first_difference(expected->trace, actual->trace), "");
        EXPECT_EQ(actual->step_end, expected->step_end);
        EXPECT_EQ(actual->iteration, expected->iteration);
        EXPECT_EQ(actual->simulated_ops, expected->simulated_ops);
        if (testing::Test::HasFailure()) {
            return false;
        }
    }
    return true;
}

TEST(Executors, AgreeOnEveryOpOfSmallPrograms) {
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const std::uint32_t num_ranks = seed % 4 == 0 ? 32 : seed % 2 == 0 ? 16 : 8;
        const RandomCase random = random_case({.seed = seed,
                                               .num_ranks = num_ranks,
                                               .steps = static_cast<std::uint32_t>(1 + seed % 3)});
        if (is_selected(seed) && !agree(random, true)) {
            return;
        }
    }
}

// One block of two events, twice: what a disagreement looks like when it is small.
TEST(Executors, AgreeOnTinyPrograms) {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        const RandomCase random = random_case({.seed = seed,
                                               .num_ranks = 4,
                                               .blocks = 1,
                                               .events_per_block = 2,
                                               .slots = 2,
                                               .steps = 1});
        if (is_selected(seed) && !agree(random, true)) {
            return;
        }
    }
}

TEST(Executors, AgreeWhereRanksFold) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const RandomCase random = random_case({.seed = seed, .num_ranks = 64, .symmetric = true});
        if (is_selected(seed) && !agree(random, true)) {
            return;
        }
    }
}

TEST(Executors, AgreeOnLargePrograms) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const RandomCase random = random_case({.seed = seed,
                                               .num_ranks = seed % 2 == 0 ? 512u : 256u,
                                               .blocks = 5,
                                               .slots = 12,
                                               .symmetric = seed % 3 == 0});
        if (is_selected(seed) && !agree(random, seed % 4 == 0)) {
            return;
        }
    }
}

// Folding that never folds would agree as well.
TEST(Executors, FoldSymmetricPrograms) {
    std::uint32_t fewer = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const RandomCase random = random_case({.seed = seed, .num_ranks = 64, .symmetric = true});
        const std::unique_ptr<SharedRates> rates = rates_for(*random.network);
        const SimulationOutcome folded = simulate(random.input(true, false), *rates);
        ASSERT_TRUE(folded.has_value()) << folded.error().to_string();
        fewer += folded->fold_classes < random.program.num_ranks() ? 1 : 0;
    }
    EXPECT_GE(fewer, 10u);
}

}  // namespace
}  // namespace orrery::reference
