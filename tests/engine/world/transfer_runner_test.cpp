// SPDX-License-Identifier: Apache-2.0
// Rules 5 to 7 of engine/world/simulation.h, by hand.
#include "engine/world/transfer_runner.h"

#include <gtest/gtest.h>

#include "tests/engine/small_runs.h"

namespace orrery {
namespace transfer_runner_test {

using namespace small_runs;

TEST(TransferRunner, ACollectiveMovesWhenTheLastMemberHasArrived) {
    ProgramBuilder b({{"dp", 2}, {"pp", 1}});
    const GroupId dp = b.group("dp", 1);
    const std::uint32_t work = b.kernel(5_ns);
    const std::uint32_t sync = b.collective(dp, 100_B, kCompute);
    b.kernel(1_ns);
    ScriptedNetwork network({kBytePerNanosecond});
    network.collective = plan_over({0}, 100_B, 30_ns);
    SimulationInput input = b.input(network);
    DeviceTimings slow = b.device;
    slow.kernels[work].duration = 12_ns;
    input.devices.push_back(slow);
    input.device_class = {0, 1};
    const SimulationResult result = run(input);
    EXPECT_EQ(traced(result, kRank0, sync).start, 5_ns);
    EXPECT_EQ(traced(result, kRank0, sync).data_start, 12_ns);
    EXPECT_EQ(traced(result, kRank0, sync).end, 12_ns + 30_ns + 100_ns);
    EXPECT_EQ(traced(result, kRank1, sync).start, 12_ns);
    EXPECT_EQ(result.iteration, 143_ns);
    input.traced_ranks.clear();
    EXPECT_EQ(run(input).iteration, 143_ns);
}

TEST(TransferRunner, PhasesFollowEachOtherAndEndWithTheirLastPart) {
    ProgramBuilder b({{"dp", 2}, {"pp", 1}});
    b.collective(b.group("dp", 1), 1_B);
    ScriptedNetwork network({kBytePerNanosecond, kBytePerNanosecond});
    TransferPhase both = phase_over({0}, 40_B, 5_ns);
    both.parts.push_back(phase_over({1}, 60_B).parts[0]);
    TransferPhase sharing = phase_over({0}, 10_B, 7_ns);
    sharing.parts.push_back(phase_over({0}, 30_B).parts[0]);
    network.collective.phases = {both, sharing, {3_ns, {}}, phase_over({0}, 0_B, 2_ns)};
    // 5 + 60, then 7 + 20 at half rate for both and 20 alone, then latencies.
    EXPECT_EQ(run(b.input(network)).iteration, 65_ns + 47_ns + 3_ns + 2_ns);
}

TEST(TransferRunner, AGroupOfOneRankEndsOnArrival) {
    ProgramBuilder b({{"dp", 1}, {"pp", 1}});
    b.kernel(5_ns);
    b.collective(b.group("dp", 1), 100_B, kCompute);
    b.kernel(5_ns);
    const ScriptedNetwork network({});
    EXPECT_EQ(run(b.input(network)).iteration, 10_ns);
}

TEST(TransferRunner, AMessageMovesWhenBothSidesHaveArrived) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).kernel(5_ns);
    const std::uint32_t sends = b.exchange({send(20)}, kCompute);
    b.role(1).kernel(9_ns);
    const std::uint32_t receives = b.exchange({receive(20)}, kCompute);
    const ScriptedNetwork network = two_ranks();
    const SimulationResult result = run(b.input(network));
    EXPECT_EQ(traced(result, kRank0, sends).start, 5_ns);
    EXPECT_EQ(traced(result, kRank0, sends).data_start, 9_ns);
    EXPECT_EQ(traced(result, kRank1, receives).end, 29_ns);
}

TEST(TransferRunner, MessagesShareALinkEqually) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).exchange({send(20), receive(50)});
    b.role(1).exchange({receive(20), send(50)});
    ScriptedNetwork network = two_ranks();
    network.sends[{kRank1, kRank0}] = plan_over({0}, {});
    // Both at half rate until 40 ns, when 30 bytes of the longer one are left.
    EXPECT_EQ(run(b.input(network)).iteration, 70_ns);
    network.contention = false;
    EXPECT_EQ(run(b.input(network)).iteration, 50_ns);
}

TEST(TransferRunner, TheKthSendMeetsTheKthReceive) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0);
    const std::uint32_t first = b.exchange({send(20)}, kNet);
    b.exchange({send(30)}, kOther);
    b.role(1).kernel(100_ns);
    b.exchange({receive(20)}, kNet, {0});
    b.exchange({receive(30)}, kOther);
    const ScriptedNetwork network = two_ranks();
    const SimulationResult result = run(b.input(network));
    EXPECT_EQ(traced(result, kRank0, first).end, 120_ns);
    EXPECT_EQ(traced(result, kRank0, 1).end, 30_ns);
}

}  // namespace transfer_runner_test
}  // namespace orrery
