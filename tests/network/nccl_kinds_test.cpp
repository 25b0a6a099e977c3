// SPDX-License-Identifier: Apache-2.0
// NCCL on clusters of several kinds of nodes.
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "network/fabric/port_limits.h"
#include "network/nccl_network.h"
#include "tests/network/mixed_clusters.h"

namespace orrery {
namespace {

using namespace orrery::literals;

NcclNetworkOptions h100_and_a100() {
    return {.compute_capability = 90, .num_sms = 132, .devices = {{90, 132}, {80, 108}}};
}

std::vector<RankId> ranks(std::uint32_t first, std::uint32_t count, std::uint32_t stride = 1) {
    std::vector<RankId> all;
    for (std::uint32_t i = 0; i < count; ++i) {
        all.push_back(to_id<RankId>(first + i * stride));
    }
    return all;
}

CollectiveCall reduce(std::int64_t bytes) {
    return {.kind = CollectiveKind::all_reduce, .bytes = Bytes{bytes}};
}

// Alone on the network, whose parts flow together.
double seconds_of(const NcclNetwork& network, const TransferPlan& plan) {
    double all = 0;
    for (const TransferPhase& phase : plan.phases) {
        double longest = 0;
        std::vector<double> load(network.links().size(), 0);
        for (const TransferPart& part : phase.parts) {
            const auto bits = static_cast<double>(part.bytes.count()) * 8;
            longest =
                std::max(longest, bits / static_cast<double>(part.rate_max.bits_per_second()));
            for (const LinkShare& share : part.footprint) {
                load[index(share.link)] += bits * share.count;
            }
        }
        for (std::size_t l = 0; l < load.size(); ++l) {
            longest = std::max(
                longest,
                load[l] / static_cast<double>(network.links()[l].capacity.bits_per_second()));
        }
        all += phase.latency.seconds() + longest;
    }
    return all;
}

std::string text_of(const TransferPlan& plan) {
    std::string text = plan.algorithm + " " + plan.protocol + " " + std::to_string(plan.channels) +
                       " " + std::to_string(plan.sms);
    for (const TransferPhase& phase : plan.phases) {
        text += "; " + std::to_string(phase.latency.picoseconds());
        for (const TransferPart& part : phase.parts) {
            text += ", " + std::to_string(part.bytes.count()) + " at " +
                    std::to_string(part.rate_max.bits_per_second());
            for (const LinkShare& share : part.footprint) {
                text += " " + std::to_string(index(share.link)) + "x" + std::to_string(share.count);
            }
        }
    }
    return text;
}

TEST(NcclKinds, OneKindInAListIsTheClusterWithoutAList) {
    ClusterSpec plain = cluster_of(4, dgx_h100(), with_nics(400_Gbps));
    ClusterSpec listed = plain;
    listed.kinds = {{.node = plain.node, .num_nodes = 4}};
    const NcclNetwork a{built(plain), {.num_sms = 132}};
    const NcclNetwork b{built(listed), {.num_sms = 132, .devices = {{90, 132}}}};
    for (const auto& members : {ranks(0, 8), ranks(0, 32), ranks(3, 4, 8)}) {
        for (const std::int64_t bytes : {8LL, 1LL << 20, 1LL << 30}) {
            for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_to_all}) {
                const CollectiveCall call{.kind = kind, .bytes = Bytes{bytes}};
                EXPECT_EQ(text_of(a.plan(call, members)), text_of(b.plan(call, members)));
            }
        }
    }
    for (const RankId to : {RankId{9}, RankId{1}}) {
        EXPECT_EQ(text_of(a.plan(SendCall{Bytes{1 << 20}}, std::array{RankId{0}, to})),
                  text_of(b.plan(SendCall{Bytes{1 << 20}}, std::array{RankId{0}, to})));
    }
}

TEST(NcclKinds, AGroupInsideOneKindIsThatOfAClusterOfIt) {
    const NcclNetwork mixed{built(two_kinds(2, dgx_h100(), 2, dgx_a100())), h100_and_a100()};
    const NcclNetwork h100{built(cluster_of(2, dgx_h100(), with_nics(200_Gbps))),
                           {.compute_capability = 90, .num_sms = 132}};
    const NcclNetwork a100{built(cluster_of(2, dgx_a100(), with_nics(200_Gbps))),
                           {.compute_capability = 80, .num_sms = 108}};
    for (const std::int64_t bytes : {64LL, 1LL << 20, 1LL << 30}) {
        for (const std::uint32_t count : {8U, 16U}) {
            const double first = seconds_of(mixed, mixed.plan(reduce(bytes), ranks(0, count)));
            const double second = seconds_of(mixed, mixed.plan(reduce(bytes), ranks(16, count)));
            EXPECT_EQ(first, seconds_of(h100, h100.plan(reduce(bytes), ranks(0, count))));
            EXPECT_EQ(second, seconds_of(a100, a100.plan(reduce(bytes), ranks(0, count))));
        }
    }
    // In-switch reduction is the H100's.
    EXPECT_EQ(mixed.plan(reduce(1 << 30), ranks(0, 8)).algorithm, "nvls");
    EXPECT_NE(mixed.plan(reduce(1 << 30), ranks(16, 8)).algorithm, "nvls");
}

TEST(NcclKinds, AGroupOfTwoKindsDoesWhatBothCan) {
    const NcclNetwork mixed{built(two_kinds(1, dgx_h100(), 1, dgx_a100())), h100_and_a100()};
    const NcclNetwork h100{built(cluster_of(2, dgx_h100(), with_nics(200_Gbps))),
                           {.compute_capability = 90, .num_sms = 132}};
    const auto both = mixed.plan(reduce(1 << 30), ranks(0, 16));
    const auto best = h100.plan(reduce(1 << 30), ranks(0, 16));
    EXPECT_GE(seconds_of(mixed, both), seconds_of(h100, best));
    EXPECT_NE(both.algorithm, "nvls_tree");
    // LL128 needs one compute capability.
    for (std::int64_t bytes = 8; bytes <= 1 << 30; bytes *= 4) {
        EXPECT_NE(mixed.plan(reduce(bytes), ranks(0, 16)).protocol, "LL128") << bytes;
    }
}

TEST(NcclKinds, AdaptersOfAKindHaveItsBandwidthAndNumber) {
    ClusterSpec spec = two_kinds(2, dgx_a100(), 2, dgx_a100());
    spec.kinds[1].nics_per_node = 4;
    spec.kinds[1].nic_bandwidth = 100_Gbps;
    const NcclNetwork network{built(spec), {.compute_capability = 80, .num_sms = 108}};
    ClusterSpec alone = cluster_of(2, dgx_a100(), with_nics(100_Gbps));
    alone.fabric.nics_per_node = 4;
    const NcclNetwork slower{built(alone), {.compute_capability = 80, .num_sms = 108}};
    const auto time = [](const NcclNetwork& of, std::uint32_t first) {
        return seconds_of(of, of.plan(reduce(1 << 30), ranks(first, 16)));
    };
    EXPECT_EQ(time(network, 16), time(slower, 0));
    EXPECT_GT(time(network, 16), 1.9 * time(network, 0));
    const Fabric& fabric = network.fabric();
    EXPECT_EQ(fabric.nic_of(RankId{15}), (NicPort{.node = 1, .nic = 7}));
    EXPECT_EQ(fabric.nic_of(RankId{31}), (NicPort{.node = 3, .nic = 3}));
}

TEST(NcclKinds, ClassesApartTakeTheEthernetOfAllNodes) {
    const ClusterSpec spec =
        with_classes(two_kinds(2, dgx_a100(), 2, dgx_a100()), NicClass::infiniband, NicClass::roce);
    const NcclNetwork network{built(spec), {.compute_capability = 80, .num_sms = 108}};
    const std::size_t ethernet = network.fabric().links().size() - 2 * 4;
    const auto class_of = [&](const LinkShare& share) {
        return network.link_class_names()[network.links()[index(share.link)].link_class];
    };
    const auto tcp = network.plan(reduce(1 << 30), ranks(0, 32));
    const auto rdma = network.plan(reduce(1 << 30), ranks(0, 16));
    for (const LinkShare& share : tcp.phases.at(0).parts.at(0).footprint) {
        EXPECT_NE(class_of(share), "nic");
        EXPECT_EQ(class_of(share) == "ethernet", index(share.link) >= ethernet);
    }
    for (const LinkShare& share : rdma.phases.at(0).parts.at(0).footprint) {
        EXPECT_NE(class_of(share), "ethernet");
    }
    // 2 * 31/32 of the bytes leave each node over 25 Gb/s.
    const double bytes = static_cast<double>(1 << 30) * 2 * 31 / 32;
    EXPECT_NEAR(seconds_of(network, tcp), bytes * 8 / 25e9, 0.05 * bytes * 8 / 25e9);
    EXPECT_GT(seconds_of(network, tcp), 10 * seconds_of(network, rdma));
}

TEST(NcclKinds, CongestionControlOfTheFabricIsNotThatOfTcp) {
    const ClusterSpec spec =
        with_classes(two_kinds(2, dgx_a100(), 2, dgx_a100()), NicClass::infiniband, NicClass::roce);
    NcclNetworkOptions options{.compute_capability = 80, .num_sms = 108};
    const NcclNetwork fair{built(spec), options};
    const CongestionFactor half{.efficiency = 0.5};
    options.congestion =
        CongestionFactors{.ring = half, .all_to_all = half, .point_to_point = half};
    const NcclNetwork slow{built(spec), options};
    for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_to_all}) {
        const CollectiveCall call{.kind = kind, .bytes = Bytes{1 << 26}};
        EXPECT_EQ(text_of(fair.plan(call, ranks(0, 32))), text_of(slow.plan(call, ranks(0, 32))));
        EXPECT_NE(text_of(fair.plan(call, ranks(0, 16))), text_of(slow.plan(call, ranks(0, 16))));
    }
    EXPECT_EQ(text_of(fair.plan(SendCall{Bytes{1 << 20}}, std::array{RankId{0}, RankId{20}})),
              text_of(slow.plan(SendCall{Bytes{1 << 20}}, std::array{RankId{0}, RankId{20}})));
    EXPECT_NE(text_of(fair.plan(SendCall{Bytes{1 << 20}}, std::array{RankId{0}, RankId{9}})),
              text_of(slow.plan(SendCall{Bytes{1 << 20}}, std::array{RankId{0}, RankId{9}})));
}

TEST(NcclKinds, APathBetweenClassesCrossesTheOneSwitchOfTheEthernet) {
    ClusterSpec spec =
        with_classes(two_kinds(1, dgx_a100(), 1, dgx_h100()), NicClass::infiniband, NicClass::roce);
    spec.ethernet.nic_latency = 3_us;
    spec.ethernet.link_latency = 1_us;
    const Fabric fabric = built(spec);
    Path path;
    ASSERT_TRUE(fabric.route(RankId{2}, RankId{9}, 0, path));
    std::vector<std::string> names;
    for (const LinkId link : path.links) {
        names.push_back(fabric.link_name(link));
        EXPECT_EQ(fabric.find_link(names.back()), link);
    }
    EXPECT_EQ(names,
              (std::vector<std::string>{"node 0 gpu 2 -> node 0 socket 0",
                                        "node 0 ethernet -> ethernet switch",
                                        "ethernet switch -> node 1 ethernet",
                                        "node 1 socket 0 -> node 1 gpu 1"}));
    EXPECT_EQ(path.latency, 8_us);
    Path pxn;
    ASSERT_TRUE(fabric.route_pxn(RankId{2}, RankId{9}, 0, pxn));
    EXPECT_EQ(pxn, path);
    const NicPort here{.node = 0, .nic = kEthernetNic};
    const NicPort there{.node = 1, .nic = kEthernetNic};
    EXPECT_EQ(fabric.num_paths(here, there), 1U);
    std::vector<std::uint8_t> down(fabric.links().size(), 0);
    down[index(fabric.nic_in(there))] = 1;
    Path none;
    EXPECT_FALSE(fabric.route_nics(here, there, 0, none, 0, {.down = down}));
}

TEST(NcclKinds, MessagesBetweenClassesTakeTheLatencyOfTcp) {
    const ClusterSpec spec = with_classes(
        two_kinds(2, dgx_a100(), 1, dgx_a100()), NicClass::infiniband, NicClass::ethernet);
    const NcclNetwork network{built(spec), {.compute_capability = 80, .num_sms = 108}};
    const auto rdma = network.plan(SendCall{Bytes{8}}, std::array{RankId{0}, RankId{8}});
    const auto tcp = network.plan(SendCall{Bytes{8}}, std::array{RankId{0}, RankId{16}});
    EXPECT_EQ(tcp.phases.at(0).latency - rdma.phases.at(0).latency,
              Time::picoseconds((20 + 3 - 14) * 1'000'000));
    EXPECT_LE(tcp.phases.at(0).parts.at(0).rate_max,
              Bandwidth::bits_per_second(static_cast<std::int64_t>(kTcpThread * 8e9)));
    // Messages inside a node still take NVLink.
    EXPECT_EQ(network.plan(SendCall{Bytes{1 << 20}}, std::array{RankId{16}, RankId{17}})
                  .phases.at(0)
                  .latency,
              network.plan(SendCall{Bytes{1 << 20}}, std::array{RankId{0}, RankId{1}})
                  .phases.at(0)
                  .latency);
    EXPECT_GT(seconds_of(network,
                         network.plan(CollectiveCall{.kind = CollectiveKind::all_to_all,
                                                     .bytes = Bytes{64 << 20}},
                                      ranks(0, 24))),
              seconds_of(network,
                         network.plan(CollectiveCall{.kind = CollectiveKind::all_to_all,
                                                     .bytes = Bytes{64 << 20}},
                                      ranks(0, 16))));
}

}  // namespace
}  // namespace orrery
