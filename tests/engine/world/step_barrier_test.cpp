// SPDX-License-Identifier: Apache-2.0
// Beginning at the barrier of the last step but one against simulating every step, on random
// programs that end with a barrier, or with something that nearly is one.
#include "engine/world/step_barrier.h"

#include <gtest/gtest.h>

#include "engine/world/simulated_executor.h"
#include "engine/world/time_alone.h"
#include "network/fluid/fluid.h"
#include "tests/engine/program_builder.h"
#include "tests/engine/random_program.h"
#include "tests/engine/scripted_network.h"
#include "tests/engine/step_ending.h"
#include "tests/reference/trace_difference.h"

namespace orrery {
namespace step_barrier_test {

using namespace orrery::literals;

constexpr std::int64_t kBytePerNanosecond = 8'000'000'000;

Tapes tapes_of(const SimulationInput& input) {
    return build_tapes(*input.program, input.launch_cost);
}

bool has_barrier(const SimulationInput& input) {
    const Tapes tapes = tapes_of(input);
    Transfers transfers = plan_transfers(*input.program, tapes, *input.network);
    time_messages_alone(*input.network, transfers);
    return find_step_barrier(input, tapes, transfers).has_value();
}

SimulationResult run(const SimulationInput& input) {
    FluidRates rates(input.network->links());
    SimulationOutcome outcome = simulate(input, rates);
    EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().to_string());
    return outcome ? *outcome : SimulationResult{};
}

TEST(StepBarrier, TheLastStepIsTheSameFromTheBarrierBeforeIt) {
    int with = 0;
    int without = 0;
    for (std::uint64_t seed = 5001; seed <= 6500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomCase c = random_case(seed, seed % 2 == 0);
        append_ending(c,
                      {.waits_for_all = seed % 5 != 0,
                       .all_wait = seed % 7 != 0,
                       .tail = static_cast<std::uint32_t>(seed % 6),
                       .bytes = seed % 3 == 0 ? 0u : 4000u},
                      seed);
        const ToyNetwork network(c.network);
        c.input.program = &c.program;
        c.input.network = &network;
        c.input.steps = 2 + seed % 2;
        if (seed % 4 == 0) {
            c.input.traced_ranks.clear();
        }
        ++(has_barrier(c.input) ? with : without);
        for (const bool fold : {false, true}) {
            c.input.accelerations.fold(fold);
            c.input.accelerations.step_barrier = false;
            const SimulationResult every = run(c.input);
            c.input.accelerations.step_barrier = true;
            const SimulationResult last = run(c.input);
            ASSERT_EQ(reference::last_step_difference(every, last), "");
            EXPECT_EQ(every.critical_path.total(), every.iteration);
        }
    }
    EXPECT_GT(with, 400);
    EXPECT_GT(without, 200);
}

// Two ranks of one role: a kernel, the barrier, a kernel after it.
class TwoRanks {
public:
    TwoRanks() : builder_({{"dp", 2}, {"pp", 1}}), network_({kBytePerNanosecond}) {
        network_.collective = plan_over({0}, 100_B, 30_ns);
    }

    ProgramBuilder& builder() { return builder_; }
    GroupId everyone() { return builder_.group("dp", 1); }
    bool has_barrier(Time launch_cost = {}) {
        SimulationInput input = builder_.input(network_);
        input.launch_cost = launch_cost;
        return step_barrier_test::has_barrier(input);
    }

private:
    ProgramBuilder builder_;
    ScriptedNetwork network_;
};

TEST(StepBarrier, IsACollectiveOfAllThatEverythingElseComesBeforeOrAfter) {
    TwoRanks ranks;
    ProgramBuilder& b = ranks.builder();
    const std::uint32_t work = b.kernel(5_ns);
    const std::uint32_t sync = b.collective(ranks.everyone(), 100_B, kNet, {work});
    b.kernel(7_ns, kCompute, {sync});
    EXPECT_TRUE(ranks.has_barrier());
    b.kernel(1_ns, kOther);  // at any time
    EXPECT_FALSE(ranks.has_barrier());
}

TEST(StepBarrier, LaunchesAfterItHaveToBePast) {
    TwoRanks ranks;
    ProgramBuilder& b = ranks.builder();
    const std::uint32_t work = b.kernel(5_ns);
    const std::uint32_t sync = b.collective(ranks.everyone(), 100_B, kNet, {work});
    b.kernel(7_ns, kCompute, {sync});
    // The barrier ends 130 ns after its launch, the second one, or later.
    EXPECT_TRUE(ranks.has_barrier(130_ns));
    EXPECT_FALSE(ranks.has_barrier(131_ns));
}

}  // namespace step_barrier_test
}  // namespace orrery
