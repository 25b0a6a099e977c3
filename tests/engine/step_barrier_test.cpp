// SPDX-License-Identifier: Apache-2.0
// Beginning at the barrier of the last step but one against simulating every step, on random
// programs that end with a barrier, or with something that nearly is one.
#include "engine/step_barrier.h"

#include <gtest/gtest.h>

#include "engine/contention.h"
#include "engine/simulated_executor.h"
#include "network/fluid.h"
#include "tests/engine/program_builder.h"
#include "tests/engine/random_program.h"
#include "tests/engine/scripted_network.h"
#include "tests/reference/trace_difference.h"

namespace orrery {
namespace step_barrier_test {

using namespace orrery::literals;

constexpr std::int64_t kBytePerNanosecond = 8'000'000'000;

// What is drawn about the end of a step.
struct StepEnding {
    bool waits_for_all;   // or not for the last op of one stream
    bool all_wait;        // or an op after it does not wait for it
    std::uint32_t tail;   // ops after it
    std::uint32_t bytes;  // of it; none: it takes only the network's latency, if any
};

void append_ending(RandomCase& c, const StepEnding& ending, std::uint64_t seed) {
    Program& p = c.program;
    const std::uint32_t everyone = reference::append(p.groups, Group{"everyone", 7u, 0, {}, {}});
    const std::uint32_t payload = reference::append(
        p.collectives,
        CollectiveCall{.group = to_id<GroupId>(everyone), .bytes = Bytes{ending.bytes}});
    const std::uint32_t local = reference::append(
        p.collectives, CollectiveCall{.group = to_id<GroupId>(0), .bytes = Bytes{300'000}});
    for (std::uint32_t role = 0; role < p.roles.size(); ++role) {
        Slot slot{.segment = to_id<SegmentId>(p.segments.size()), .waits = {}};
        p.segments.push_back({"ending", {}});
        bool left_out = ending.waits_for_all;
        for (std::uint32_t s = 0; s < p.roles[role].slots.size(); ++s) {
            const std::size_t size = p.segments[index(p.roles[role].slots[s].segment)].ops.size();
            for (std::uint32_t op = 0; op < size; ++op) {
                if (!left_out && op + 1 == size && s == 1) {
                    left_out = true;
                    continue;
                }
                slot.waits.push_back({0, s, op});
            }
        }
        const auto add = [&](OpKind kind, std::uint64_t stream, std::uint32_t what, bool waits) {
            const std::vector<std::uint32_t> on{0};
            reference::append_op(p,
                                 slot.segment,
                                 Op{.payload = {kind, what},
                                    .stream = to_id<StreamId>(stream % 3),
                                    .launches = static_cast<std::uint8_t>(seed % 3)},
                                 waits ? on : std::vector<std::uint32_t>{});
        };
        add(OpKind::collective, seed, payload, false);
        for (std::uint32_t i = 0; i < ending.tail; ++i) {
            const bool moves = (seed >> i) % 4 == 0;
            add(moves ? OpKind::collective : OpKind::kernel,
                seed + i,
                moves ? local : i % 6,
                ending.all_wait || i > 0);
        }
        p.roles[role].slots.push_back(std::move(slot));
    }
}

Tapes tapes_of(const SimulationInput& input) {
    return build_tapes(*input.program, input.launch_cost);
}

bool has_barrier(const SimulationInput& input) {
    const Tapes tapes = tapes_of(input);
    Transfers transfers = plan_transfers(*input.program, tapes, *input.network);
    find_contended_links(*input.program, tapes, *input.network, transfers);
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
            c.input.fold = fold;
            c.input.every_step = true;
            const SimulationResult every = run(c.input);
            c.input.every_step = false;
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
