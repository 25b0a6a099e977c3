// SPDX-License-Identifier: Apache-2.0
#include "engine/program/critical_path.h"

#include <gtest/gtest.h>

#include "engine/world/simulated_executor.h"
#include "tests/engine/naive_rates.h"
#include "tests/engine/program_builder.h"
#include "tests/engine/scripted_network.h"

namespace orrery {
namespace {

using namespace orrery::literals;

constexpr std::int64_t kBytePerNanosecond = 8'000'000'000;

// Traced ranks walk their runs op by op, untraced ones use sums: both must say the same.
CauseTimes path_of(SimulationInput input) {
    NaiveRates rates(input.network->links());
    const SimulationOutcome traced = simulate(input, rates);
    EXPECT_TRUE(traced.has_value());
    input.traced_ranks.clear();
    NaiveRates fresh(input.network->links());
    const SimulationOutcome untraced = simulate(input, fresh);
    EXPECT_EQ(traced->critical_path.of, untraced->critical_path.of);
    EXPECT_EQ(traced->critical_path.total(), traced->iteration);
    return traced->critical_path;
}

TEST(CriticalPath, SplitsKernelsIntoIdealAndTheRest) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(10_ns, kCompute, {}, Cause::gemm_inefficiency, 6_ns);
    b.kernel(5_ns, kCompute, {}, Cause::recomputation, 4_ns);
    b.kernel(3_ns, kCompute, {}, Cause::optimizer, 1_ns);
    b.host(2_ns, kCompute);
    const ScriptedNetwork network({});
    const CauseTimes path = path_of(b.input(network));
    EXPECT_EQ(path[Cause::useful_compute], 6_ns);
    EXPECT_EQ(path[Cause::gemm_inefficiency], 4_ns);
    EXPECT_EQ(path[Cause::recomputation], 5_ns);
    EXPECT_EQ(path[Cause::optimizer], 3_ns);
    EXPECT_EQ(path[Cause::host], 2_ns);
}

TEST(CriticalPath, FollowsTheLaunchThatBindsLast) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(1_ns);
    b.kernel(1_ns);
    b.kernel(20_ns);
    b.kernel(2_ns);
    const ScriptedNetwork network({});
    SimulationInput input = b.input(network);
    input.launch_cost = 5_ns;
    const CauseTimes path = path_of(input);
    // The third kernel waits for its launch at 15 ns; the fourth for the third.
    EXPECT_EQ(path[Cause::launch], 15_ns);
    EXPECT_EQ(path[Cause::memory_bound_kernels], 22_ns);
}

TEST(CriticalPath, FollowsTheWaitThatEndsLast) {
    ProgramBuilder b({{"r", 1}});
    const std::uint32_t host = b.host(5_ns, kNet);
    const std::uint32_t longer = b.host(9_ns, kOther, {}, Cause::interference);
    b.kernel(3_ns);
    b.kernel(1_ns, kCompute, {host, longer});
    const ScriptedNetwork network({});
    const CauseTimes path = path_of(b.input(network));
    EXPECT_EQ(path[Cause::interference], 9_ns);
    EXPECT_EQ(path[Cause::host], 0_ns);
    EXPECT_EQ(path[Cause::memory_bound_kernels], 1_ns);
}

TEST(CriticalPath, OfACollectiveIsTheLastMembers) {
    ProgramBuilder b({{"dp", 2}, {"pp", 1}});
    b.kernel(5_ns);
    b.collective(b.group("dp", 1), 10_B, kCompute);
    ScriptedNetwork network({kBytePerNanosecond});
    network.collective = plan_over({0}, 10_B, 4_ns);
    SimulationInput input = b.input(network);
    input.devices.push_back(b.device);
    input.devices[1].kernels[0].duration = 8_ns;
    input.device_class = {0, 1};
    const CauseTimes path = path_of(input);
    EXPECT_EQ(path[Cause::memory_bound_kernels], 8_ns);
    EXPECT_EQ(path[Cause::exposed_data], 14_ns);
}

TEST(CriticalPath, SetsSharingApartAsContention) {
    ProgramBuilder b({{"pp", 2}});
    b.role(0).exchange({{true, 0, 1, -1, 30_B, 0}});
    b.exchange({{false, 0, 1, -1, 30_B, 1}}, kOther);
    b.role(1).exchange({{false, 0, -1, -1, 30_B, 0}});
    b.exchange({{true, 0, -1, -1, 30_B, 1}}, kOther);
    ScriptedNetwork network({kBytePerNanosecond});
    network.sends[{RankId{0}, RankId{1}}] = plan_over({0}, {}, 2_ns);
    network.sends[{RankId{1}, RankId{0}}] = plan_over({0}, {}, 2_ns);
    const CauseTimes path = path_of(b.input(network));
    EXPECT_EQ(path[Cause::exposed_pipeline], 32_ns);
    EXPECT_EQ(path[Cause::network_contention], 30_ns);
}

TEST(CriticalPath, SetsTheStretchOfKernelsApartAsInterference) {
    ProgramBuilder b({{"dp", 2}, {"pp", 1}});
    b.kernel(100_ns, kCompute, {}, Cause::gemm_inefficiency, 80_ns);
    b.collective(b.group("dp", 1), 40_B);
    ScriptedNetwork network({kBytePerNanosecond});
    network.collective = plan_over({0}, 40_B, 0_ns, 50);
    const CauseTimes path = path_of(b.input(network));
    EXPECT_EQ(path[Cause::useful_compute], 80_ns);
    EXPECT_EQ(path[Cause::gemm_inefficiency], 20_ns);
    EXPECT_EQ(path[Cause::interference], 20_ns);
}

TEST(CriticalPath, CountsTheLastStepOnly) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(7_ns);
    b.host(9_ns, kOther, {0});
    const ScriptedNetwork network({});
    SimulationInput input = b.input(network);
    input.steps = 3;
    const CauseTimes path = path_of(input);
    EXPECT_EQ(path[Cause::memory_bound_kernels], 7_ns);
    EXPECT_EQ(path[Cause::host], 9_ns);
}

TEST(CriticalPath, PrefersEarlierCausesOnATie) {
    PathTimes compute;
    compute[Cause::useful_compute] = 5_ns;
    PathTimes pipeline;
    pipeline[Cause::exposed_pipeline] = 5_ns;
    LatestPath latest;
    latest.offer(5_ns, pipeline);
    latest.offer(5_ns, compute);
    EXPECT_EQ(latest.path[Cause::useful_compute], 5_ns);
    latest.offer(5_ns, pipeline);
    EXPECT_EQ(latest.path[Cause::useful_compute], 5_ns);
    latest.offer(6_ns, pipeline);
    EXPECT_EQ(latest.path[Cause::exposed_pipeline], 5_ns);
}

TEST(CriticalPath, GivesWhatATransferTakesAloneToItsCause) {
    PathTimes path;
    add_transfer(path, Cause::exposed_tensor, 4_ns, 10_ns);
    add_transfer(path, Cause::exposed_tensor, 4_ns, 3_ns);
    EXPECT_EQ(path[Cause::exposed_tensor], 7_ns);
    EXPECT_EQ(path[Cause::network_contention], 6_ns);
}

}  // namespace
}  // namespace orrery
