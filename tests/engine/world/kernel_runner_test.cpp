// SPDX-License-Identifier: Apache-2.0
// Rule 4 of engine/world/simulation.h, by hand.
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

}  // namespace kernel_runner_test
}  // namespace orrery
