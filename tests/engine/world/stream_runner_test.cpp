// SPDX-License-Identifier: Apache-2.0
// Rules 1 to 3 of engine/world/simulation.h, by hand.
#include "engine/world/stream_runner.h"

#include <gtest/gtest.h>

#include "tests/engine/small_runs.h"

namespace orrery {
namespace stream_runner_test {

using namespace small_runs;

TEST(StreamRunner, OpsOfAStreamFollowEachOther) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(5_ns);
    b.kernel(7_ns);
    b.host(3_ns, kCompute);
    const ScriptedNetwork network({});
    const SimulationResult result = run(b.input(network));
    EXPECT_EQ(traced(result, kRank0, 1).start, 5_ns);
    EXPECT_EQ(traced(result, kRank0, 2).end, 15_ns);
    EXPECT_EQ(result.iteration, 15_ns);
    EXPECT_EQ(result.simulated_ops, 3);
}

TEST(StreamRunner, StreamsOverlapUntilAnOpWaits) {
    ProgramBuilder b({{"r", 1}});
    const std::uint32_t work = b.kernel(5_ns);
    const std::uint32_t host = b.host(8_ns);
    b.host(2_ns, kNet, {work, host});
    const ScriptedNetwork network({});
    const SimulationResult result = run(b.input(network));
    EXPECT_EQ(traced(result, kRank0, host).end, 8_ns);
    EXPECT_EQ(traced(result, kRank0, 2).start, 8_ns);
    EXPECT_EQ(result.iteration, 10_ns);
}

TEST(StreamRunner, NoOpStartsBeforeItsLaunch) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(1_ns);
    b.kernel(1_ns);
    b.program.segments[0].ops[1].launches = 3;
    b.kernel(20_ns);
    b.kernel(1_ns);
    const ScriptedNetwork network({});
    SimulationInput input = b.input(network);
    input.launch_cost = 4_ns;
    input.steps = 2;
    SimulationResult result = run(input);
    EXPECT_EQ(traced(result, kRank0, 0).start, 4_ns);
    EXPECT_EQ(traced(result, kRank0, 1).start, 16_ns);
    EXPECT_EQ(traced(result, kRank0, 2).start, 20_ns);
    EXPECT_EQ(traced(result, kRank0, 3).start, 40_ns);  // launched at 24 ns, but the stream is busy
    // The host reads the loss of a step before it launches the next.
    EXPECT_EQ(traced(result, kRank0, 0, 1).start, 41_ns + 4_ns);
    EXPECT_EQ(result.step_end, (std::vector{41_ns, 82_ns}));
    input.traced_ranks.clear();
    result = run(input);
    EXPECT_EQ(result.step_end, (std::vector{41_ns, 82_ns}));
}

}  // namespace stream_runner_test
}  // namespace orrery
