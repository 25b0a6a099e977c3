// SPDX-License-Identifier: Apache-2.0
// Copies between memory tiers on the links of a real node: by themselves, and beside a message that
// leaves over the same PCIe link. The simulated executor and the reference agree with each other
// and with the arithmetic.
#include <gtest/gtest.h>

#include <array>

#include "engine/world/simulated_executor.h"
#include "network/fluid/fluid.h"
#include "network/nccl_network.h"
#include "tests/engine/program_builder.h"
#include "tests/network/fabric_samples.h"
#include "tests/reference/reference_executor.h"
#include "tests/reference/trace_difference.h"

namespace orrery {
namespace copies_agree_test {

using namespace orrery::literals;

// Two ranks on the first GPUs of two servers, whose PCIe links move 32 GB/s.
NcclNetwork two_servers() {
    ClusterSpec spec = samples::a100_cluster(2);
    spec.gpu_of_rank = {0, 8};
    spec.node.host_memory = 1024_GiB;
    spec.node.nvme_drives = 2;
    spec.node.nvme_read_bandwidth = 6_GBps;
    spec.node.nvme_write_bandwidth = 3_GBps;
    return NcclNetwork{*build_fabric(spec), {}};
}

constexpr CopyCall kToHost{
    .from = MemoryTier::hbm, .to = MemoryTier::dram, .bytes = Bytes(64'000'000)};

// When the first op of rank 0 ends, if both executors say the same.
Time end_of_first(const ProgramBuilder& b, const NetworkModel& network) {
    const SimulationInput input = b.input(network);
    FluidRates rates(network.links());
    const SimulationOutcome fast = simulate(input, rates);
    const SimulationOutcome slow = reference::reference_simulate(input);
    EXPECT_TRUE(fast && slow);
    EXPECT_EQ(reference::first_difference(slow->trace, fast->trace), "");
    EXPECT_EQ(fast->trace.at(0).start, fast->trace.at(0).data_start);
    return fast->trace.at(0).end;
}

TEST(Copies, TakeTheirLatencyAndTheirBytesAtTheRateOfTheLink) {
    const NcclNetwork network = two_servers();
    ProgramBuilder b({{"dp", 1}, {"pp", 2}});
    b.role(0).copy(kToHost);
    b.role(1).kernel(1_ns);
    EXPECT_EQ(end_of_first(b, network), 500_ns + 2_ms);
}

TEST(Copies, ShareThePcieLinkWithAMessageByMaxMin) {
    const NcclNetwork network = two_servers();
    const Bytes sent = 1_GB;
    ProgramBuilder b({{"dp", 1}, {"pp", 2}});
    b.role(0).copy(kToHost);
    b.exchange({{.is_send = true, .digit = 1, .delta = 1, .bytes = sent}}, kOther);
    b.role(1).exchange({{.is_send = false, .digit = 1, .delta = -1, .bytes = sent}}, kOther);
    const TransferPlan message = network.plan(SendCall{sent}, std::array{RankId{0}, RankId{1}});
    ASSERT_EQ(message.phases.at(0).parts.size(), 1U);
    const LinkId pcie = network.fabric().pcie_out(RankId{0});
    std::int64_t channels = 0;
    for (const LinkShare& share : message.phases[0].parts[0].footprint) {
        channels += share.link == pcie ? share.count : 0;
    }
    ASSERT_GT(channels, 0);
    // The copy has the link to itself until the message's bytes begin. Then it gets one share.
    const Time begin = message.phases[0].latency;
    const std::int64_t rate = (32_GBps).bits_per_second();
    const std::int64_t share = rate / (1 + channels);
    const __int128 left = static_cast<__int128>(kToHost.bytes.count()) * 8 * 1'000'000'000'000 -
                          static_cast<__int128>(rate) * (begin - 500_ns).picoseconds();
    const Time rest = Time::picoseconds(static_cast<std::int64_t>((left + share - 1) / share));
    EXPECT_EQ(end_of_first(b, network), begin + rest);
    EXPECT_GT(begin + rest, 5_ms);
}

TEST(Copies, OfTheGpusOfANodeShareItsDrives) {
    ClusterSpec spec = samples::a100_cluster(1);
    spec.gpu_of_rank = {0, 5};
    spec.node.host_memory = 1024_GiB;
    spec.node.nvme_drives = 2;
    spec.node.nvme_read_bandwidth = 6_GBps;
    spec.node.nvme_write_bandwidth = 3_GBps;
    const NcclNetwork network{*build_fabric(spec), {}};
    const CopyCall write{
        .from = MemoryTier::dram, .to = MemoryTier::nvme, .bytes = Bytes(60'000'000)};
    ProgramBuilder b({{"dp", 1}, {"pp", 2}});
    b.role(0).copy(write);
    b.role(1).kernel(1_ns);
    EXPECT_EQ(end_of_first(b, network), 500_ns + 10_ms);
    b.role(1).copy(write);
    EXPECT_EQ(end_of_first(b, network), 500_ns + 20_ms);
    b.program.copies[1] = {
        .from = MemoryTier::nvme, .to = MemoryTier::dram, .bytes = Bytes(60'000'000)};
    EXPECT_EQ(end_of_first(b, network), 500_ns + 10_ms);  // reads and writes do not meet
}

}  // namespace copies_agree_test
}  // namespace orrery
