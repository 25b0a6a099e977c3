// SPDX-License-Identifier: Apache-2.0
// Rules 4 and 11 of engine/world/simulation.h, by hand.
#include "engine/world/kernel_runner.h"

#include <gtest/gtest.h>

#include "tests/engine/small_runs.h"

namespace orrery {
namespace kernel_runner_test {

using namespace small_runs;

TEST(KernelRunner, KernelsSlowDownWhileCommunicationHoldsSms) {
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

// One kernel of 20 ns, and a product of 100 ns that starts beside an exchange over half of the 100
// SMs, which began at 10 ns.
Time end_of_product(Bytes exchanged, bool persistent, Time first = 20_ns) {
    ProgramBuilder b({{"dp", 2}, {"pp", 1}});
    const std::uint32_t start = b.kernel(10_ns, kOther);
    b.kernel(first);
    const std::uint32_t product = b.kernel(100_ns);
    b.collective(b.group("dp", 1), exchanged, kNet, {start});
    ScriptedNetwork network({kBytePerNanosecond});
    network.collective = plan_over({0}, exchanged, 0_ns, 50);
    SimulationInput input = b.input(network);
    input.devices[0].kernels[product].persistent = persistent;
    const SimulationResult result = run(input);
    input.traced_ranks.clear();
    EXPECT_EQ(run(input).iteration, result.iteration);
    return traced(result, kRank0, product).end;
}

// The first kernel takes 30 ns beside the exchange.
TEST(KernelRunner, APersistentProductTakesTwoWavesBesideAnExchange) {
    EXPECT_EQ(end_of_product(400_B, true), 30_ns + 200_ns);
    EXPECT_EQ(end_of_product(400_B, false), 30_ns + 200_ns);
    // The other half of its blocks starts at 50 ns, when the SMs are free. Tiles without fixed
    // blocks lose the 20 ns in half.
    EXPECT_EQ(end_of_product(40_B, true), 50_ns + 100_ns);
    EXPECT_EQ(end_of_product(40_B, false), 30_ns + 110_ns);
}

TEST(KernelRunner, AnExchangeDoesNotStopBlocksThatRun) {
    EXPECT_EQ(end_of_product(400_B, true, 5_ns), 105_ns);
    EXPECT_GT(end_of_product(400_B, false, 5_ns), 105_ns);
}

// When an exchange starts that may start at 10 ns, beside a kernel of `first` and one of 100 ns. It
// holds half of the 100 SMs.
Time start_of_exchange(Time first, bool queues = true, std::uint32_t sms = 50) {
    ProgramBuilder b({{"dp", 2}, {"pp", 1}});
    const std::uint32_t start = b.host(10_ns);
    b.kernel(first);
    b.kernel(100_ns);
    const std::uint32_t exchange = b.collective(b.group("dp", 1), 40_B, kNet, {start});
    ScriptedNetwork network({kBytePerNanosecond});
    network.collective = plan_over({0}, 40_B, 0_ns, sms);
    SimulationInput input = b.input(network);
    input.devices[0].communication_queues = queues;
    const SimulationResult result = run(input);
    EXPECT_EQ(result.critical_path.total(), result.iteration);
    input.traced_ranks.clear();
    EXPECT_EQ(run(input).iteration, result.iteration);
    return traced(result, kRank0, exchange).start;
}

TEST(KernelRunner, AnExchangeQueuesForTheSmsOfAKernelThatRuns) {
    EXPECT_EQ(start_of_exchange(5_ns), 105_ns);
    EXPECT_EQ(start_of_exchange(40_ns), 40_ns);   // and before the next kernel
    EXPECT_EQ(start_of_exchange(10_ns), 110_ns);  // kernels of the same instant come first
    EXPECT_EQ(start_of_exchange(5_ns, false), 10_ns);
    EXPECT_EQ(start_of_exchange(5_ns, true, 0), 10_ns);
}

TEST(KernelRunner, AnExchangeThatHasQueuedComesBeforeTheNextProduct) {
    ProgramBuilder b({{"dp", 2}, {"pp", 1}});
    const std::uint32_t start = b.host(10_ns);
    b.kernel(100_ns);
    const std::uint32_t next = b.kernel(100_ns);
    b.collective(b.group("dp", 1), 400_B, kNet, {start});
    ScriptedNetwork network({kBytePerNanosecond});
    network.collective = plan_over({0}, 400_B, 0_ns, 50);
    SimulationInput input = b.input(network);
    input.devices[0].communication_queues = true;
    input.devices[0].kernels[next - 1].persistent = true;
    EXPECT_EQ(traced(run(input), kRank0, next).end, 300_ns);  // two waves
    input.devices[0].num_sms = 0;
    EXPECT_EQ(traced(run(input), kRank0, next).end, 200_ns);
}

// The product's second wave would end at 220 ns. It starts when the first exchange ends, at 50 ns,
// and so the second exchange need not wait as long.
TEST(KernelRunner, AnExchangeQueuesForLessTimeIfTheProductEndsEarlier) {
    ProgramBuilder b({{"dp", 2}, {"pp", 1}});
    const std::uint32_t start = b.host(10_ns);
    const std::uint32_t later = b.host(30_ns);
    b.host(20_ns, kCompute);
    const std::uint32_t product = b.kernel(100_ns);
    b.collective(b.group("dp", 1), 40_B, kNet, {start});
    const std::uint32_t second = b.collective(b.group("dp too", 1), 40_B, 3, {later});
    ScriptedNetwork network({kBytePerNanosecond});
    network.collective = plan_over({0}, 40_B, 0_ns, 50);
    SimulationInput input = b.input(network);
    input.devices[0].communication_queues = true;
    input.devices[0].kernels[0].persistent = true;
    const SimulationResult result = run(input);
    EXPECT_EQ(traced(result, kRank0, product).end, 150_ns + kAsksAfter);
    EXPECT_EQ(traced(result, kRank0, second).start, 150_ns + kAsksAfter);
    EXPECT_EQ(result.iteration, 190_ns + kAsksAfter);
    EXPECT_EQ(result.critical_path.total(), result.iteration);
}

}  // namespace kernel_runner_test
}  // namespace orrery
