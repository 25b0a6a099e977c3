// SPDX-License-Identifier: Apache-2.0
// No set of accelerations changes a result: random programs with none of them against the reference
// executor, op by op, and against themselves with random sets of accelerations, to the picosecond.
// That each acceleration has something to do in these programs is shown as well.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "engine/world/simulated_executor.h"
#include "network/fluid/fluid.h"
#include "tests/engine/random_program.h"
#include "tests/engine/step_ending.h"
#include "tests/engine/toy_network.h"
#include "tests/reference/drawn_accelerations.h"
#include "tests/reference/reference_executor.h"
#include "tests/reference/trace_difference.h"

namespace orrery::reference {
namespace {

// A random program on a random network. Members of a group mostly meet different neighbours on
// the way (hashed); with wide ports nothing slows down what stays in a node.
struct Drawn {
    explicit Drawn(std::uint64_t seed) : random(orrery::random_case(seed, seed % 4 == 0)) {
        Dice dice{seed};
        random.network.hashed = random.network.hashed || dice.chance(70);
        if (dice.chance(40)) {
            random.network.port_bps = 8'000'000'000'000;
            random.network.rate_max_bps = 200'000'000'000;
        }
        if (dice.chance(30)) {
            append_ending(random, {true, true, dice.between(0u, 3u), 4000u}, seed);
        }
        network.emplace(random.network);
        input = random.input;
        input.program = &random.program;
        input.network = &*network;
        input.steps = dice.between(1u, 3u);
        traced = input.traced_ranks;
        if (dice.chance(80)) {
            input.traced_ranks.clear();  // traced ranks keep out of lockstep groups
        }
    }

    orrery::RandomCase random;
    std::optional<ToyNetwork> network;
    SimulationInput input;
    std::vector<RankId> traced;
};

// Counts what it is asked to move: several parts of a transfer may be one flow.
class CountingRates final : public FluidRates {
public:
    using FluidRates::FluidRates;
    FlowId start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) override {
        ++started;
        return FluidRates::start(now, footprint, bytes, rate_max);
    }

    std::int64_t started = 0;
};

SimulationResult run(SimulationInput input,
                     const Accelerations& accelerations,
                     std::int64_t* started = nullptr) {
    input.accelerations = accelerations;
    CountingRates rates(input.network->links());
    SimulationOutcome outcome = simulate(input, rates);
    EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().to_string());
    if (started != nullptr) {
        *started = rates.started;
    }
    return outcome ? std::move(*outcome) : SimulationResult{};
}

// Steps that the barrier leaves out have no trace, and times count from it.
void expect_same(const SimulationResult& plain,
                 const SimulationResult& fast,
                 const Accelerations& accelerations) {
    EXPECT_EQ(last_step_difference(plain, fast), "");
    EXPECT_EQ(plain.link_bytes, fast.link_bytes);
    if (!accelerations.step_barrier) {
        EXPECT_EQ(plain.step_end, fast.step_end);
        EXPECT_EQ(first_difference(plain.trace, fast.trace), "");
    }
}

TEST(Accelerations, AnySetOfThemGivesTheSameResult) {
    for (std::uint64_t seed = 20'001; seed <= 20'500 && !testing::Test::HasFailure(); ++seed) {
        const Drawn drawn(seed);
        const SimulationResult plain = run(drawn.input, accelerations_of(0));
        for (std::uint64_t set = 0; set < 5; ++set) {
            const Accelerations chosen =
                set == 0 ? Accelerations{} : drawn_accelerations(seed * 8 + set, true);
            SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(chosen));
            expect_same(plain, run(drawn.input, chosen), chosen);
        }
    }
}

TEST(Accelerations, NoneAgreesWithTheReferenceAndSoDoesAnySet) {
    for (std::uint64_t seed = 30'001; seed <= 30'200 && !testing::Test::HasFailure(); ++seed) {
        Drawn drawn(seed);
        drawn.input.traced_ranks = drawn.traced;
        const SimulationOutcome expected = reference_simulate(drawn.input);
        ASSERT_TRUE(expected.has_value()) << expected.error().to_string();
        for (const Accelerations& chosen :
             {accelerations_of(0), drawn_accelerations(seed, false)}) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(chosen));
            const SimulationResult actual = run(drawn.input, chosen);
            EXPECT_EQ(first_difference(expected->trace, actual.trace), "");
            EXPECT_EQ(expected->step_end, actual.step_end);
            EXPECT_EQ(expected->iteration, actual.iteration);
            EXPECT_EQ(expected->slowest_rank, actual.slowest_rank);
        }
    }
}

// A device that gets slower and a link that gets narrower in the middle of the step.
TEST(Accelerations, AnySetOfThemGivesTheSameResultWhenDevicesAndLinksChange) {
    for (std::uint64_t seed = 40'001; seed <= 40'200 && !testing::Test::HasFailure(); ++seed) {
        Drawn drawn(seed);
        Dice dice{seed + 1};
        const auto whole = run(drawn.input, Accelerations{}).step_end.back().picoseconds();
        const auto some_time = [&] {
            return Time::picoseconds(dice.between<std::int64_t>(0, whole));
        };
        const auto num_links = static_cast<std::uint32_t>(drawn.network->links().size());
        const auto link = to_id<LinkId>(dice.between(0u, num_links - 1));
        const std::int64_t bps = drawn.network->links()[index(link)].capacity.bits_per_second();
        drawn.input.events.capacities = {
            {.at = some_time(), .link = link, .capacity = Bandwidth::bits_per_second(bps / 3 + 1)}};
        drawn.input.events.devices = {
            {.at = some_time(),
             .device = 0,
             .becomes = static_cast<std::uint16_t>(drawn.input.devices.size() - 1)}};
        const SimulationResult plain = run(drawn.input, accelerations_of(0));
        for (std::uint64_t set = 0; set < 3; ++set) {
            const Accelerations chosen = drawn_accelerations(seed * 8 + set, false);
            SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(chosen));
            expect_same(plain, run(drawn.input, chosen), chosen);
        }
    }
}

// Sets without one that does nothing anyway would agree as well.
TEST(Accelerations, EachHasWorkToDoInRandomPrograms) {
    std::array<int, kAccelerations.size()> used{};
    for (std::uint64_t seed = 20'001; seed <= 20'200; ++seed) {
        const Drawn drawn(seed);
        std::int64_t started = 0;
        const SimulationResult all = run(drawn.input, Accelerations{}, &started);
        for (std::size_t i = 0; i < kAccelerations.size(); ++i) {
            Accelerations without;
            without.*kAccelerations[i].on = false;
            std::int64_t other_started = 0;
            const SimulationResult other = run(drawn.input, without, &other_started);
            const bool differs = all.events != other.events || started != other_started ||
                                 all.fold_classes != other.fold_classes;
            used[i] += differs ? 1 : 0;
        }
    }
    for (std::size_t i = 0; i < kAccelerations.size(); ++i) {
        RecordProperty(kAccelerations[i].name, used[i]);
        EXPECT_GE(used[i], 3) << kAccelerations[i].name;
    }
}

}  // namespace
}  // namespace orrery::reference
