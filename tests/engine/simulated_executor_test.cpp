// SPDX-License-Identifier: Apache-2.0
// Programs small enough to work out by hand, at least one for each rule of engine/simulation.h.
// One byte over a link of 8 Gb/s takes one nanosecond.
#include "engine/simulated_executor.h"

#include <gtest/gtest.h>

#include "tests/engine/naive_rates.h"
#include "tests/engine/program_builder.h"
#include "tests/engine/scripted_network.h"

namespace orrery {
namespace simulated_executor_test {

using namespace orrery::literals;

constexpr std::int64_t kBytePerNanosecond = 8'000'000'000;
constexpr RankId kRank0{0};
constexpr RankId kRank1{1};

SimulationResult run(const SimulationInput& input) {
    NaiveRates rates(input.network->links());
    SimulationOutcome outcome = simulate(input, rates);
    EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().to_string());
    return outcome ? *outcome : SimulationResult{};
}

TracedOp traced(const SimulationResult& result,
                RankId rank,
                std::uint32_t op,
                std::uint32_t step = 0) {
    for (const TracedOp& t : result.trace) {
        if (t.rank == rank && t.op == op && t.step == step) {
            return t;
        }
    }
    ADD_FAILURE() << "op " << op << " of rank " << index(rank) << " is not in the trace";
    return {};
}

SendRecvPart send(std::int64_t bytes, int delta = 1) {
    return {true, 0, delta, Bytes{bytes}, 0};
}
SendRecvPart receive(std::int64_t bytes, int delta = -1) {
    return {false, 0, delta, Bytes{bytes}, 0};
}

// Links 0 … 3; a message from rank r goes over link r.
ScriptedNetwork two_ranks() {
    ScriptedNetwork network(std::vector<std::int64_t>(4, kBytePerNanosecond));
    network.sends[{kRank0, kRank1}] = plan_over({0}, {});
    network.sends[{kRank1, kRank0}] = plan_over({1}, {});
    return network;
}

TEST(SimulatedExecutor, OpsOfAStreamFollowEachOther) {
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

TEST(SimulatedExecutor, StreamsOverlapUntilAnOpWaits) {
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

TEST(SimulatedExecutor, NoOpStartsBeforeItsLaunch) {
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

TEST(SimulatedExecutor, ACollectiveMovesWhenTheLastMemberHasArrived) {
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

TEST(SimulatedExecutor, PhasesFollowEachOtherAndEndWithTheirLastPart) {
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

TEST(SimulatedExecutor, AGroupOfOneRankEndsOnArrival) {
    ProgramBuilder b({{"dp", 1}, {"pp", 1}});
    b.kernel(5_ns);
    b.collective(b.group("dp", 1), 100_B, kCompute);
    b.kernel(5_ns);
    const ScriptedNetwork network({});
    EXPECT_EQ(run(b.input(network)).iteration, 10_ns);
}

TEST(SimulatedExecutor, KernelsSlowDownWhileCommunicationHoldsSms) {
    ProgramBuilder b({{"dp", 2}, {"pp", 1}});
    const std::uint32_t start = b.kernel(10_ns, kOther);
    const std::uint32_t gemm = b.kernel(100_ns);
    b.kernel(50_ns);
    b.collective(b.group("dp", 1), 40_B, kNet, {start});
    ScriptedNetwork network({kBytePerNanosecond});
    network.collective = plan_over({0}, 40_B, 0_ns, 50);
    SimulationInput input = b.input(network);
    // Half of the 100 SMs from 10 to 50 ns: 20 ns of work are lost.
    SimulationResult result = run(input);
    EXPECT_EQ(traced(result, kRank0, gemm).end, 120_ns);
    EXPECT_EQ(result.iteration, 170_ns);
    input.traced_ranks.clear();
    EXPECT_EQ(run(input).iteration, 170_ns);
    // Half as sensitive: 10 ns.
    input.devices[0].kernels[gemm].sm_sensitivity_permille = 500;
    EXPECT_EQ(run(input).iteration, 160_ns);
    input.devices[0].num_sms = 0;
    EXPECT_EQ(run(input).iteration, 150_ns);
}

TEST(SimulatedExecutor, AMessageMovesWhenBothSidesHaveArrived) {
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

TEST(SimulatedExecutor, MessagesShareALinkEqually) {
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

TEST(SimulatedExecutor, TheKthSendMeetsTheKthReceive) {
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

TEST(SimulatedExecutor, CountsBytesOverLinks) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).exchange({send(20)});
    b.exchange({send(20)});
    b.kernel(80_ns);
    b.role(1).exchange({receive(20)});
    b.exchange({receive(20)});
    const ScriptedNetwork network = two_ranks();
    SimulationInput input = b.input(network);
    input.steps = 3;
    const SimulationResult result = run(input);
    EXPECT_EQ(result.iteration, 80_ns);
    EXPECT_DOUBLE_EQ(result.link_class_utilisation_max.at(0), 0.5);
}

TEST(SimulatedExecutor, SaysWhoWaitsOnWhomInADeadlock) {
    ProgramBuilder b({{"dp", 2}, {"pp", 2}});
    const GroupId dp = b.group("dp", 1);
    const SendRecvPart to_next{true, 1, 1, 10_B, 0};
    const SendRecvPart from_next{false, 1, 1, 10_B, 1};
    const SendRecvPart to_last{true, 1, -1, 10_B, 1};
    const SendRecvPart from_last{false, 1, -1, 10_B, 0};
    b.role(0).collective(dp, 10_B);
    b.exchange({from_next});
    b.exchange({to_next});
    b.role(1).exchange({from_last});
    b.exchange({to_last});
    ScriptedNetwork network({kBytePerNanosecond});
    for (const auto& [from, to] : {std::pair{0u, 2u}, {2u, 0u}, {1u, 3u}, {3u, 1u}}) {
        network.sends[{RankId{from}, RankId{to}}] = plan_over({0}, {});
    }
    network.collective = plan_over({0}, 10_B);
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    const SimulationOutcome outcome = simulate(input, rates);
    ASSERT_FALSE(outcome.has_value());
    const std::string what = outcome.error().what;
    EXPECT_NE(what.find("deadlock"), std::string::npos) << what;
    EXPECT_NE(what.find("rank 0 in step 0: role role 0, slot 0 (work), op 1"), std::string::npos)
        << what;
    EXPECT_NE(what.find("rank 2 in step 0: role role 1, slot 0 (work), op 0"), std::string::npos)
        << what;
}

// Each rank of the ring receives before it sends.
TEST(SimulatedExecutor, ALongDeadlockIsToldInAFewOfItsRanks) {
    constexpr int kRanks = 24;
    ProgramBuilder b({{"pp", kRanks}});
    ScriptedNetwork network({kBytePerNanosecond});
    for (int r = 0; r < kRanks; ++r) {
        const int next = (r + 1) % kRanks;
        const int last = (r + kRanks - 1) % kRanks;
        b.role(static_cast<std::uint32_t>(r)).exchange({{false, 0, next - r, 10_B, 0}});
        b.exchange({{true, 0, last - r, 10_B, 0}});
        network.sends[{to_id<RankId>(static_cast<std::uint32_t>(r)),
                       to_id<RankId>(static_cast<std::uint32_t>(last))}] = plan_over({0}, {});
    }
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    const SimulationOutcome outcome = simulate(input, rates);
    ASSERT_FALSE(outcome.has_value());
    const std::string what = outcome.error().what;
    EXPECT_NE(what.find("more in turn"), std::string::npos) << what;
    EXPECT_LT(what.size(), 900u) << what;
}

TEST(SimulatedExecutor, NothingLeavesOverADeadLink) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).exchange({send(20)});
    b.role(1).exchange({receive(20)});
    ScriptedNetwork network = two_ranks();
    network.link_table[0].capacity = Bandwidth{};
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    const SimulationOutcome outcome = simulate(input, rates);
    ASSERT_FALSE(outcome.has_value());
    EXPECT_NE(outcome.error().what.find("no bandwidth"), std::string::npos);
}

TEST(SimulatedExecutor, RefusesAMalformedProgram) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).exchange({send(20)});
    const ScriptedNetwork network = two_ranks();
    const SimulationInput input = b.input(network);
    NaiveRates rates(network.links());
    EXPECT_FALSE(simulate(input, rates).has_value());
}

TEST(SimulatedExecutor, ReportsProgressUpToTheEnd) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(5_ns);
    b.kernel(5_ns, kNet);
    const ScriptedNetwork network({});
    SimulationInput input = b.input(network);
    std::vector<double> shares;
    input.progress = [&](double share) { shares.push_back(share); };
    run(input);
    ASSERT_FALSE(shares.empty());
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    EXPECT_DOUBLE_EQ(shares.back(), 1.0);
}

}  // namespace simulated_executor_test
}  // namespace orrery
