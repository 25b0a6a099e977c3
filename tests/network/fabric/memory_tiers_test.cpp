// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/memory_tiers.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "engine/world/rate_alone.h"
#include "network/nccl_network.h"
#include "tests/network/fabric_samples.h"

namespace orrery {
namespace {

using namespace orrery::literals;

// Eight GPUs on two sockets, four drives.
ClusterSpec with_host(std::uint32_t nodes = 1) {
    ClusterSpec spec = samples::a100_cluster(nodes);
    spec.node.num_sockets = 2;
    spec.node.socket_bandwidth = 20_GBps;
    spec.node.host_memory = 1024_GiB;
    spec.node.host_memory_bandwidth = 200_GBps;
    spec.node.nvme_drives = 4;
    spec.node.nvme_read_bandwidth = 6_GBps;
    spec.node.nvme_write_bandwidth = 3_GBps;
    return spec;
}

CopyCall copy_of(MemoryTier from, MemoryTier to, Bytes bytes = Bytes(96'000'000)) {
    return {.from = from, .to = to, .bytes = bytes};
}

constexpr MemoryTier kHbm = MemoryTier::hbm;
constexpr MemoryTier kDram = MemoryTier::dram;
constexpr MemoryTier kNvme = MemoryTier::nvme;

// Counts by the names of the links.
std::map<std::string, std::uint32_t> loads(const Fabric& fabric,
                                           std::uint32_t rank,
                                           CopyCall call) {
    std::map<std::string, std::uint32_t> counts;
    const TransferPhase phase = fabric.copy(RankId{rank}, call);
    for (const LinkShare& share : phase.parts.at(0).footprint) {
        counts[fabric.link_name(share.link)] = share.count;
    }
    return counts;
}

using Loads = std::map<std::string, std::uint32_t>;

TEST(MemoryTiers, ANodeHasTheTiersThatItSays) {
    NodeSpec node = with_host().node;
    for (const MemoryTier tier : {kHbm, kDram, kNvme}) {
        EXPECT_TRUE(has_tier(node, tier)) << name(tier);
    }
    node.nvme_drives = 0;
    EXPECT_FALSE(has_tier(node, kNvme));
    EXPECT_TRUE(has_tier(node, kDram));
    node = samples::a100_cluster(1).node;
    EXPECT_TRUE(has_tier(node, kHbm));
    EXPECT_FALSE(has_tier(node, kDram));
    EXPECT_EQ(TierWiring(node).num_links(), 0U);
}

TEST(MemoryTiers, CopiesToTheHostTakeTheGpusOwnPcieLinkAndItsSocketsMemory) {
    const auto fabric = build_fabric(with_host());
    EXPECT_EQ(
        loads(*fabric, 1, copy_of(kHbm, kDram)),
        (Loads{{"node 0 gpu 1 -> node 0 socket 0", 1}, {"node 0 socket 0 -> node 0 memory 0", 1}}));
    EXPECT_EQ(
        loads(*fabric, 6, copy_of(kDram, kHbm)),
        (Loads{{"node 0 socket 1 -> node 0 gpu 6", 1}, {"node 0 socket 1 -> node 0 memory 1", 1}}));
    const TransferPhase phase = fabric->copy(RankId{6}, copy_of(kDram, kHbm));
    EXPECT_EQ(phase.latency, 500_ns);
    EXPECT_EQ(phase.parts[0].bytes, Bytes(96'000'000));
    EXPECT_EQ(fabric->find_link("node 0 socket 1 -> node 0 gpu 6"), fabric->pcie_in(RankId{6}));
}

TEST(MemoryTiers, C2cTakesThePlaceOfPcie) {
    ClusterSpec spec = with_host();
    spec.node.c2c_bandwidth = 450_GBps;
    spec.node.host_memory_bandwidth = {};
    const auto fabric = build_fabric(spec);
    EXPECT_EQ(
        loads(*fabric, 1, copy_of(kHbm, kDram)),
        (Loads{{"node 0 gpu 1 -> node 0 memory 0", 1}, {"node 0 socket 0 -> node 0 memory 0", 1}}));
    const TransferPhase phase = fabric->copy(RankId{1}, copy_of(kHbm, kDram));
    EXPECT_EQ(phase.latency, 300_ns);  // of an NVLink
    EXPECT_EQ(rate_alone(phase.parts[0].footprint, {}, fabric->links()), 450_GBps);
}

TEST(MemoryTiers, FilesAreStripedOverTheDrivesOfBothSockets) {
    const auto fabric = build_fabric(with_host());
    EXPECT_EQ(loads(*fabric, 1, copy_of(kDram, kNvme)),
              (Loads{{"node 0 socket 0 -> node 0 memory 0", 2},
                     {"node 0 socket 0 -> node 0 socket 1", 1},
                     {"node 0 socket 0 -> node 0 drives 0", 1},
                     {"node 0 socket 1 -> node 0 drives 1", 1}}));
    EXPECT_EQ(loads(*fabric, 1, copy_of(kNvme, kDram)),
              (Loads{{"node 0 socket 0 -> node 0 memory 0", 2},
                     {"node 0 socket 1 -> node 0 socket 0", 1},
                     {"node 0 drives 0 -> node 0 socket 0", 1},
                     {"node 0 drives 1 -> node 0 socket 1", 1}}));
    const TransferPhase write = fabric->copy(RankId{1}, copy_of(kDram, kNvme));
    EXPECT_EQ(write.parts[0].bytes, Bytes(48'000'000));
    EXPECT_EQ(rate_alone(write.parts[0].footprint, {}, fabric->links()), 6_GBps);  // two drives
    const TransferPhase read = fabric->copy(RankId{1}, copy_of(kNvme, kDram));
    EXPECT_EQ(rate_alone(read.parts[0].footprint, {}, fabric->links()), 12_GBps);
}

TEST(MemoryTiers, AnOddDriveHangsOnTheFirstSocket) {
    ClusterSpec spec = with_host();
    spec.node.nvme_drives = 3;
    const auto fabric = build_fabric(spec);
    const Loads expected{{"node 0 socket 1 -> node 0 memory 1", 3},
                         {"node 0 socket 1 -> node 0 socket 0", 2},
                         {"node 0 socket 0 -> node 0 drives 0", 2},
                         {"node 0 socket 1 -> node 0 drives 1", 1}};
    EXPECT_EQ(loads(*fabric, 7, copy_of(kDram, kNvme)), expected);
    EXPECT_EQ(fabric->copy(RankId{7}, copy_of(kDram, kNvme, 100_B)).parts[0].bytes, 34_B);
}

TEST(MemoryTiers, TraysHaveMemoriesOfTheirOwn) {
    ClusterSpec spec = with_host(2);
    spec.node.trays = 2;
    spec.node.num_sockets = 1;
    spec.node.socket_bandwidth = {};
    const auto fabric = build_fabric(spec);
    EXPECT_EQ(
        loads(*fabric, 13, copy_of(kHbm, kDram)),
        (Loads{{"node 1 gpu 5 -> node 1 socket 0", 1}, {"node 1 socket 0 -> node 1 memory 1", 1}}));
    EXPECT_EQ(loads(*fabric, 13, copy_of(kNvme, kDram)),
              (Loads{{"node 1 drives 1 -> node 1 socket 0", 1},
                     {"node 1 socket 0 -> node 1 memory 1", 1}}));
}

TEST(MemoryTiers, OnlyTheKindsOfNodesThatHaveThemGetTheLinks) {
    ClusterSpec spec = with_host(1);
    NodeSpec bare = samples::a100_cluster(1).node;
    spec.kinds = {{.node = bare, .num_nodes = 2}, {.node = spec.node, .num_nodes = 1}};
    spec.num_nodes = 3;
    spec.node = bare;
    const auto fabric = build_fabric(spec);
    ASSERT_TRUE(fabric) << fabric.error().to_string();
    EXPECT_EQ(
        loads(*fabric, 17, copy_of(kHbm, kDram)),
        (Loads{{"node 2 gpu 1 -> node 2 socket 0", 1}, {"node 2 socket 0 -> node 2 memory 0", 1}}));
    // Two memories and two sockets' drives of each direction.
    EXPECT_EQ(TierWiring(with_host().node).num_links(), 6U);
    EXPECT_EQ(index(fabric->copy(RankId{16}, copy_of(kHbm, kDram)).parts[0].footprint[1].link),
              fabric->links().size() - 6);
}

TEST(MemoryTiers, ACopyByItselfTakesItsLatencyAndItsBytesAtTheLinksRate) {
    const NcclNetwork network(*build_fabric(with_host(2)), {});
    const auto time = [&](const CopyCall& call) {
        const TransferPlan plan = network.plan(call, std::array{RankId{3}});
        EXPECT_EQ(plan.sms, 0U);
        EXPECT_EQ(plan.engine, TransferEngine::copy_engine);
        return time_without_contention(plan, network.links());
    };
    EXPECT_EQ(time(copy_of(kHbm, kDram)), 500_ns + 3_ms);   // 32 GB/s
    EXPECT_EQ(time(copy_of(kDram, kNvme)), 500_ns + 8_ms);  // 4 drives of 3 GB/s
    EXPECT_EQ(time(copy_of(kNvme, kDram)), 500_ns + 4_ms);  // 4 drives of 6 GB/s
    EXPECT_EQ(time(copy_of(kNvme, kDram, Bytes{})), 500_ns);
}

TEST(MemoryTiers, ThereIsNoWayAroundALinkThatIsDown) {
    const NcclNetwork network(*build_fabric(with_host()), {});
    const CopyCall call = copy_of(kHbm, kDram);
    std::vector<std::uint8_t> down(network.links().size(), 0);
    const auto around = [&] {
        return network.paths_around(call, std::array{RankId{3}}, down).at(0).around;
    };
    EXPECT_EQ(around(), network.plan(call, std::array{RankId{3}}).phases[0].parts[0].footprint);
    down[index(network.fabric().pcie_in(RankId{3}))] = 1;
    EXPECT_FALSE(around().empty());
    down[index(network.fabric().pcie_out(RankId{3}))] = 1;
    EXPECT_TRUE(around().empty());
}

TEST(MemoryTiers, TheMemoryIsTheLimitWhereAllGpusCopy) {
    ClusterSpec spec = with_host();
    spec.node.host_memory_bandwidth = 48_GBps;
    const auto fabric = build_fabric(spec);
    const TransferPhase phase = fabric->copy(RankId{1}, copy_of(kHbm, kDram));
    EXPECT_EQ(rate_alone(phase.parts[0].footprint, {}, fabric->links()), 24_GBps);
}

}  // namespace
}  // namespace orrery
