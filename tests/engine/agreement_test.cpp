// SPDX-License-Identifier: Apache-2.0
// The fast executor against the slow one (tests/reference), and folded against unfolded runs, on
// random programs, with a naive and with the real solver: every op of every rank starts and ends at
// the same picosecond.
#include <gtest/gtest.h>

#include "engine/world/simulated_executor.h"
#include "network/fluid/fluid.h"
#include "tests/engine/naive_rates.h"
#include "tests/engine/random_program.h"
#include "tests/reference/reference_executor.h"

namespace orrery {
namespace {

template <class Rates>
SimulationResult run(const SimulationInput& input) {
    Rates rates(input.network->links());
    SimulationOutcome outcome = simulate(input, rates);
    EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().to_string());
    return outcome ? *outcome : SimulationResult{};
}

std::string words(const TracedOp& op) {
    return "rank " + std::to_string(index(op.rank)) + " step " + std::to_string(op.step) +
           " slot " + std::to_string(op.slot) + " op " + std::to_string(op.op) + ": " +
           std::to_string(op.start.picoseconds()) + " " +
           std::to_string(op.data_start.picoseconds()) + " " + std::to_string(op.end.picoseconds());
}

void expect_equal_traces(const SimulationResult& a, const SimulationResult& b, std::uint64_t seed) {
    ASSERT_EQ(a.trace.size(), b.trace.size()) << "seed " << seed;
    for (std::size_t i = 0; i < a.trace.size(); ++i) {
        ASSERT_EQ(words(a.trace[i]), words(b.trace[i])) << "seed " << seed;
    }
    EXPECT_EQ(a.step_end, b.step_end) << "seed " << seed;
    EXPECT_EQ(a.iteration, b.iteration) << "seed " << seed;
    EXPECT_EQ(a.slowest_rank, b.slowest_rank) << "seed " << seed;
    EXPECT_EQ(a.simulated_ops, b.simulated_ops) << "seed " << seed;
}

// How far the runs so far were folded.
struct Folding {
    std::uint64_t ranks = 0;
    std::uint64_t classes = 0;
    std::uint64_t flows = 0;
};

void compare(std::uint64_t seed, bool symmetric, Folding& folding) {
    RandomCase c = random_case(seed, symmetric);
    const ToyNetwork network(c.network);
    c.input.program = &c.program;
    c.input.network = &network;
    c.input.accelerations.step_barrier = false;
    const SimulationOutcome reference = reference::reference_simulate(c.input);
    ASSERT_TRUE(reference.has_value()) << "seed " << seed << reference.error().to_string();
    c.input.accelerations.fold(false);
    const SimulationResult unfolded = run<NaiveRates>(c.input);
    expect_equal_traces(*reference, unfolded, seed);
    c.input.accelerations.fold(true);
    const SimulationResult folded = run<NaiveRates>(c.input);
    expect_equal_traces(*reference, folded, seed);
    folding.ranks += c.program.num_ranks();
    folding.classes += folded.fold_classes;
    folding.flows += static_cast<std::uint64_t>(folded.flows);
    EXPECT_EQ(unfolded.critical_path.of, folded.critical_path.of) << "seed " << seed;
    EXPECT_EQ(unfolded.busy_sum.of, folded.busy_sum.of) << "seed " << seed;
    EXPECT_EQ(unfolded.critical_path.total(), unfolded.iteration);
    const SimulationResult fluid = run<FluidRates>(c.input);
    expect_equal_traces(folded, fluid, seed);
    EXPECT_EQ(folded.flows, fluid.flows) << "seed " << seed;
    // Without traced ranks runs of kernels are not walked op by op.
    c.input.traced_ranks.clear();
    const SimulationResult untraced = run<NaiveRates>(c.input);
    EXPECT_EQ(untraced.step_end, unfolded.step_end) << "seed " << seed;
    EXPECT_EQ(untraced.critical_path.of, unfolded.critical_path.of) << "seed " << seed;
    EXPECT_EQ(untraced.busy_sum.of, unfolded.busy_sum.of) << "seed " << seed;
}

TEST(SimulatedExecutor, AgreesWithTheReferenceOnSymmetricPrograms) {
    Folding folding;
    for (std::uint64_t seed = 1; seed <= 400 && !HasFatalFailure(); ++seed) {
        compare(seed, true, folding);
    }
    EXPECT_LT(folding.classes * 2, folding.ranks);
    EXPECT_GT(folding.flows, 1000u);
}

TEST(SimulatedExecutor, AgreesWithTheReferenceOnAsymmetricPrograms) {
    Folding folding;
    for (std::uint64_t seed = 1001; seed <= 1400 && !HasFatalFailure(); ++seed) {
        compare(seed, false, folding);
    }
    EXPECT_LT(folding.classes, folding.ranks);
    EXPECT_GT(folding.flows, 1000u);
}

}  // namespace
}  // namespace orrery
