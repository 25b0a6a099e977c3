// SPDX-License-Identifier: Apache-2.0
// Transfers that are alone on their link until another one comes: three collectives of 100 bytes,
// each after 30 ns of latency, over a link of a byte a nanosecond, and a message over that link.
// What random programs make of it: tests/engine/agreement_test.cpp.
#include <gtest/gtest.h>

#include "engine/world/simulated_executor.h"
#include "network/fluid/fluid.h"
#include "tests/engine/program_builder.h"
#include "tests/engine/scripted_network.h"

namespace orrery {
namespace {

using namespace orrery::literals;

constexpr std::int64_t kBytePerNanosecond = 8'000'000'000;

// A message of `bytes` from rank 0 to rank 1 sets out at `at`.
SimulationResult run(Time at, std::int64_t bytes) {
    ProgramBuilder b({{"dp", 2}, {"pp", 1}});
    const GroupId both = b.group("dp", 1);
    for (int i = 0; i < 3; ++i) {
        b.collective(both, 100_B, kNet);
    }
    const auto part = [&](bool is_send) {
        return SendRecvPart{is_send, 0, is_send ? 1 : -1, -1, Bytes{bytes}, 0};
    };
    b.kernel(at, kOther);
    b.exchange({part(true), part(false)}, kOther);
    ScriptedNetwork network({kBytePerNanosecond, kBytePerNanosecond});
    network.collective = plan_over({0}, 100_B, 30_ns);
    network.sends[{RankId{0}, RankId{1}}] = plan_over({0}, {});
    network.sends[{RankId{1}, RankId{0}}] = plan_over({1}, {});
    FluidRates rates(network.links());
    const SimulationOutcome outcome = simulate(b.input(network), rates);
    EXPECT_TRUE(outcome.has_value());
    return *outcome;
}

TEST(ExclusiveTransfers, AreNoFlowsWhileNothingElseMoves) {
    // 10 bytes are left of the last one at 380 ns, none at 400 ns: half of the message then.
    const SimulationResult result = run(380_ns, 20);
    EXPECT_EQ(result.step_end[0], 410_ns);
    EXPECT_EQ(result.flows, 2);
}

TEST(ExclusiveTransfers, AMessageHalvesTheRestOfOne) {
    // 70 bytes are left of the first one at 60 ns, 50 when the message ends at 100 ns.
    EXPECT_EQ(run(60_ns, 20).step_end[0], 150_ns + 130_ns + 130_ns);
}

TEST(ExclusiveTransfers, AMessageDuringTheLatencyIsAloneUntilItsEnd) {
    EXPECT_EQ(run(10_ns, 20).step_end[0], 390_ns);
    // 20 bytes are left of the message at 30 ns: 80 of the collective at 70 ns.
    const SimulationResult result = run(10_ns, 40);
    EXPECT_EQ(result.step_end[0], 150_ns + 130_ns + 130_ns);
    EXPECT_EQ(result.flows, 2);
}

TEST(ExclusiveTransfers, AMessageAtTheEndOfOneMeetsTheNext) {
    // Alone during the second one's latency, 10 bytes are left at 160 ns: 90 of it at 180 ns.
    EXPECT_EQ(run(130_ns, 40).step_end[0], 130_ns + 140_ns + 130_ns);
}

TEST(ExclusiveTransfers, TheEndOfAllLeavesAMessageAlone) {
    const SimulationResult result = run(390_ns, 40);
    EXPECT_EQ(result.step_end[0], 430_ns);
    EXPECT_EQ(result.flows, 1);
}

}  // namespace
}  // namespace orrery
