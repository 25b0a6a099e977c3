// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/packet_study.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "scenarios/studies/network/network_study.h"
#include "tests/network/dgx_clusters.h"
#include "tests/scenarios/network_cluster.h"

namespace orrery {
namespace {

using namespace literals;

PacketStudy packet_study_of(const Scenario& scenario) {
    auto study = PacketStudy::make(scenario.cluster, scenario.network_settings);
    EXPECT_TRUE(study) << study.error().to_string();
    return std::move(*study);
}

std::vector<NicMessage> pairs(const PacketStudy& study, std::uint32_t n, Bytes bytes) {
    return messages_of_pairs(study.fabric(), traffic(TrafficPattern::pairs, n, 1, 0), bytes);
}

// Every byte of a message crosses its links once, with a header a packet and nothing repeated.
TEST(PacketStudy, AMessageAloneHasNoSlowdownAndLoadsItsLinksOnce) {
    Scenario scenario = leaf_spine_scenario(4);
    const PacketStudy study = packet_study_of(scenario);
    const auto run = study.run(pairs(study, 2, Bytes(1'000'000)), nullptr);
    ASSERT_TRUE(run);
    ASSERT_EQ(run->flows.size(), 1U);
    EXPECT_TRUE(run->finished);
    EXPECT_EQ(run->flows[0].time, run->flows[0].unloaded);
    EXPECT_EQ(run->counts.repeated, 0);
    const LinkId out = *study.fabric().find_link("node 0 nic 0 -> leaf 0");
    EXPECT_NEAR(static_cast<double>(run->link_bytes[index(out)]), 1e6 * 4150 / 4086, 5e3);
}

// A permutation of 4:1 slowdown under ECMP is about none when its packets are sprayed.
TEST(PacketStudy, PacketsFollowTheFabricsRouting) {
    Scenario scenario = leaf_spine_scenario(16);
    const auto slowest = [&](RoutingKind routing) {
        scenario.cluster.fabric.routing = routing;
        const PacketStudy study = packet_study_of(scenario);
        const auto run = study.run(pairs(study, 32, Bytes(500'000)), nullptr);
        return summarise(Bytes(500'000), run->flows).slowdown_max;
    };
    EXPECT_GT(slowest(RoutingKind::ecmp), 1.8);
    EXPECT_LT(slowest(RoutingKind::spray), 1.5);
    EXPECT_LT(slowest(RoutingKind::static_rail), 1.1);
    EXPECT_LT(slowest(RoutingKind::adaptive), 1.1);
}

TEST(PacketStudy, AStormPausesTheNetworkAndFlowsGoOnAfterwards) {
    Scenario scenario = leaf_spine_scenario(4);
    scenario.cluster.fabric.oversubscription = 4;  // one uplink: everybody is a victim
    scenario.network_settings.packet.parameters =
        packet::published_parameters(packet::CongestionKind::none);
    scenario.network_settings.packet.parameters.pfc.kind = packet::PfcKind::dynamic;
    const auto times = [&] {
        const PacketStudy study = packet_study_of(scenario);
        auto run = study.run(pairs(study, 8, Bytes(16'000'000)), nullptr);
        EXPECT_TRUE(run->finished);
        EXPECT_EQ(run->counts.dropped, 0);
        return std::move(*run);
    };
    const PacketRun calm = times();
    scenario.network_settings.events = {{.nic = "node 5 nic 0", .at = 1_ms},
                                        {.nic = "node 5 nic 0", .at = 9_ms, .restores = true}};
    const PacketRun storm = times();
    EXPECT_GT(storm.counts.paused_max, 5_ms);
    // Flow 0 -> 4 has nothing to do with node 5.
    EXPECT_GT(storm.flows[0].time, calm.flows[0].time + 3_ms);
}

TEST(PacketStudy, WhatNeverEndsIsReported) {
    Scenario scenario = leaf_spine_scenario(4);
    scenario.network_settings.packet.parameters =
        packet::published_parameters(packet::CongestionKind::none);
    scenario.network_settings.events = {{.nic = "node 5 nic 0", .at = 10_us}};
    const PacketStudy study = packet_study_of(scenario);
    const auto run = study.run(pairs(study, 8, Bytes(1'000'000)), nullptr);
    ASSERT_TRUE(run);
    EXPECT_FALSE(run->finished);
    EXPECT_FALSE(run->waits.empty());
}

TEST(PacketStudy, QueuePairsSplitAMessage) {
    Scenario scenario = leaf_spine_scenario(16);
    const auto slowest = [&](std::uint32_t queue_pairs) {
        scenario.cluster.fabric.qps_per_connection = queue_pairs;
        const PacketStudy study = packet_study_of(scenario);
        const auto run = study.run(pairs(study, 32, Bytes(4'000'000)), nullptr);
        EXPECT_EQ(run->flows.size(), 16U);
        return summarise(Bytes(4'000'000), run->flows).slowdown_max;
    };
    EXPECT_LT(slowest(8), slowest(1));
}

TEST(PacketStudy, ATraceShowsQueuesLoadsAndMessages) {
    const PacketStudy study = packet_study_of(leaf_spine_scenario(4));
    NetworkTrace trace;
    ASSERT_TRUE(study.run(pairs(study, 8, Bytes(1'000'000)), &trace));
    EXPECT_EQ(trace.tracks.size(), 4U);
    EXPECT_EQ(trace.tracks[0].name, "node 0 nic 0 -> node 4 nic 0");
    EXPECT_FALSE(trace.tracks[0].slices.empty());
    EXPECT_FALSE(trace.counters.empty());
}

TEST(PacketStudy, SaysWhatCannotBe) {
    Scenario scenario = leaf_spine_scenario(4);
    const auto error = [&] {
        const auto study = PacketStudy::make(scenario.cluster, scenario.network_settings);
        return study ? std::string{} : study.error().to_string();
    };
    scenario.network_settings.events = {{.nic = "node 9 nic 0", .where = "s:1:2"}};
    EXPECT_NE(error().find("s:1:2: error: the fabric has no NIC 'node 9 nic 0'"),
              std::string::npos);
    scenario.network_settings.events = {{.link = "node 0 gpu 0 -> node 0 socket 0"}};
    EXPECT_NE(error().find("carries no packets"), std::string::npos) << error();
    scenario.network_settings.events.clear();
    scenario.network_settings.packet.where = "s:3:4";
    scenario.network_settings.packet.parameters.ecn.kmin = Bytes(5);
    EXPECT_NE(error().find("s:3:4: error: the ECN thresholds"), std::string::npos) << error();
}

// More than a million events, so that there is something to say in between.
TEST(PacketStudy, TellsHowFarItIs) {
    const PacketStudy study = packet_study_of(leaf_spine_scenario(16));
    const auto messages = pairs(study, 16, Bytes(240'000'000));
    std::vector<double> shares;
    const auto run = study.run(messages, nullptr, [&](double share) { shares.push_back(share); });
    ASSERT_TRUE(run);
    ASSERT_GE(shares.size(), 1U);
    EXPECT_TRUE(std::ranges::is_sorted(shares));
    EXPECT_GT(shares.front(), 0);
    EXPECT_LE(shares.back(), 1);
    EXPECT_EQ(study.run(messages, nullptr)->end, run->end);
}

// Bytes out of each NIC, by node and number; each gets as many.
using ByNic = std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>;

ByNic bytes_by_nic(const std::vector<NicMessage>& messages) {
    ByNic out;
    ByNic in;
    for (const NicMessage& message : messages) {
        EXPECT_EQ(message.from.nic, message.to.nic);
        EXPECT_NE(message.from.node, message.to.node);
        out[{message.from.node, message.from.nic}] += message.bytes.count();
        in[{message.to.node, message.to.nic}] += message.bytes.count();
    }
    EXPECT_EQ(out, in);
    return out;
}

NcclNetwork numbered(std::uint32_t nodes, std::uint32_t gpus) {
    ClusterSpec cluster = cluster_of(nodes, dgx_a100(), with_nics(400_Gbps));
    cluster.use_gpus(gpus);
    return NcclNetwork{built(cluster), {.compute_capability = 80, .number_connections = true}};
}

// A ring all-reduce moves 2 (n - 1) / n of the vector over each edge (Patarasuk and Yuan 2009).
// NCCL's channels split it over the NICs of a node, if not evenly.
TEST(MessagesOfTransfer, EveryNodeSendsAndReceivesThePublishedBytes) {
    const NcclNetwork network = numbered(4, 32);
    const double size = 512e6;
    const double n = 32;
    for (const auto& [kind, per_node] :
         {std::pair{CollectiveKind::all_reduce, 2 * (n - 1) / n * size},
          std::pair{CollectiveKind::all_gather, (n - 1) / n * size},
          std::pair{CollectiveKind::reduce_scatter, (n - 1) / n * size},
          std::pair{CollectiveKind::all_to_all, (n - 8) / n * size * 8}}) {
        const CollectiveCall call{.kind = kind, .bytes = Bytes(512'000'000), .wire = Dtype::fp32};
        const auto algorithm = network.plan(call, first_ranks(32)).algorithm;
        EXPECT_EQ(algorithm, kind == CollectiveKind::all_to_all ? "p2p" : "ring") << name(kind);
        const ByNic bytes = bytes_by_nic(messages_of_transfer(network, call, first_ranks(32)));
        EXPECT_EQ(bytes.size(), 32U);
        std::map<std::uint32_t, double> sums;
        for (const auto& [nic, sent] : bytes) {
            sums[nic.first] += static_cast<double>(sent);
        }
        for (const auto& [node, sent] : sums) {
            EXPECT_NEAR(sent, per_node, 512) << name(kind);
        }
    }
}

// What moves as packets takes the very links that it loads in the fluid model.
TEST(MessagesOfTransfer, TakeTheLinksOfTheFluidPlan) {
    const ClusterSpec cluster = ecmp_cluster(8, dgx_h100());
    const NcclNetwork fluid{built(cluster), {}};
    const NcclNetwork packets{built(cluster), {.number_connections = true}};
    const auto between_nodes = [&](LinkId link) {
        return index(link) >= index(fluid.fabric().nic_out({.node = 0, .nic = 0}));
    };
    const auto expect_same_links = [&](const TransferCall& call, std::span<const RankId> members) {
        std::set<LinkId> planned;
        const TransferPlan plan = fluid.plan(call, members);
        for (const TransferPart& part : plan.phases.at(0).parts) {
            for (const LinkShare& share : part.footprint) {
                planned.insert(share.link);
            }
        }
        std::erase_if(planned, [&](LinkId link) { return !between_nodes(link); });
        std::set<LinkId> taken;
        for (const NicMessage& message : messages_of_transfer(packets, call, members)) {
            taken.insert(message.links.begin(), message.links.end());
        }
        std::erase_if(taken, [&](LinkId link) { return !between_nodes(link); });
        EXPECT_FALSE(planned.empty());
        EXPECT_EQ(taken, planned);
    };
    for (const CollectiveKind kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
        for (const std::int64_t bytes : {1 << 20, 1 << 30}) {
            expect_same_links(CollectiveCall{.kind = kind, .bytes = Bytes(bytes)}, first_ranks(64));
        }
    }
    expect_same_links(SendCall{Bytes(1 << 24)}, std::vector{RankId{3}, RankId{60}});
}

// A job on 20 GPUs of three nodes.
TEST(MessagesOfTransfer, APartlyFilledNodeDoesNotLimitTheOthersExchange) {
    const NcclNetwork network = numbered(3, 20);
    const CollectiveCall call{.kind = CollectiveKind::all_to_all, .bytes = Bytes(20'000'000)};
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> rails;
    std::int64_t bytes = 0;
    for (const NicMessage& message : messages_of_transfer(network, call, first_ranks(20))) {
        rails[{message.from.node, message.to.node}].insert(message.from.nic);
        bytes += message.bytes.count();
    }
    EXPECT_EQ((rails[{0, 1}].size()), 8U);
    EXPECT_EQ((rails[{1, 0}].size()), 8U);
    EXPECT_EQ((rails[{0, 2}].size()), 4U);
    EXPECT_EQ(bytes, 20'000'000 / 20 * (2 * 8 * 8 + 4 * 8 * 4));
}

TEST(MessagesOfTransfer, OneNodeSendsNothing) {
    const CollectiveCall call{.kind = CollectiveKind::all_reduce, .bytes = 1_MiB};
    EXPECT_TRUE(messages_of_transfer(numbered(1, 8), call, first_ranks(8)).empty());
}

// Fluid and packets agree on a collective that no queue disturbs.
TEST(PacketStudy, ARingAllReduceTakesWhatFluidSays) {
    Scenario scenario = leaf_spine_scenario(4);
    scenario.cluster.fabric.routing = RoutingKind::static_rail;
    NetworkTrace trace;
    const NetworkRequest request{.pattern = "all_reduce", .sizes = {Bytes(64'000'000)}};
    const auto fluid = study_network(scenario, request, trace);
    scenario.network = NetworkFidelity::packet;
    const auto packets = study_network(scenario, request, trace);
    ASSERT_TRUE(fluid);
    ASSERT_TRUE(packets);
    EXPECT_NEAR(packets->rows[0].time.seconds() / fluid->rows[0].time.seconds(), 1, 0.1);
    EXPECT_GT(packets->packets.at(0).packets, 100'000);
}

}  // namespace
}  // namespace orrery
