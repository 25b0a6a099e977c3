// SPDX-License-Identifier: Apache-2.0
#include "network/nccl_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "tests/network/dgx_clusters.h"
#include "tests/network/plan_time.h"

namespace orrery {
namespace {

using namespace literals;

NcclNetwork network_on(const ClusterSpec& cluster, std::uint32_t cc = 90) {
    return NcclNetwork(built(cluster), {.compute_capability = cc, .num_sms = 132});
}

CollectiveCall call_of(CollectiveKind kind, Bytes bytes) {
    CollectiveCall call;
    call.kind = kind;
    call.bytes = bytes;
    return call;
}

TEST(NcclNetwork, RingAllReduceNeverBeatsItsLinks) {
    auto node = dgx_h100();
    node.nvls = false;
    node.nvlink_bandwidth = 400_GBps;
    const auto network = network_on(cluster_of(1, node, with_nics(400_Gbps)));
    const auto members = first_ranks(8);
    const auto plan = network.plan(call_of(CollectiveKind::all_reduce, 1_GB), members);
    // 2 x 7/8 of 1 GB through a port of 400 GB/s.
    EXPECT_GE(plan_time(network, plan), Time::seconds(4.375e-3));
    EXPECT_EQ(plan.algorithm, "ring");
    EXPECT_EQ(plan.protocol, "Simple");
    EXPECT_EQ(plan.sms, plan.channels);
}

TEST(NcclNetwork, UncontendedCallsTakeNcclsEstimateAndTheFill) {
    auto node = dgx_h100();
    node.nvls = false;
    const auto network = network_on(cluster_of(4, node, with_nics(400_Gbps)));
    const auto members = first_ranks(32);
    for (const auto kind : {CollectiveKind::all_reduce,
                            CollectiveKind::all_gather,
                            CollectiveKind::reduce_scatter,
                            CollectiveKind::broadcast}) {
        for (const Bytes bytes : {4_KiB, 256_KiB, 16_MiB, 1_GiB}) {
            const auto call = call_of(kind, bytes);
            const auto plan = network.plan(call, members);
            const auto estimate = network.estimate(call, members);
            ASSERT_TRUE(estimate.has_value());
            const double stream_us =
                static_cast<double>(bytes.count()) / (1000 * estimate->bandwidth);
            const double fill_us = plan.phases[0].latency.microseconds() - estimate->latency_us;
            EXPECT_GE(fill_us, -1e-6);
            // Less than one more pass of everything; a broadcast is passed on by three nodes.
            EXPECT_LE(fill_us, (kind == CollectiveKind::broadcast ? 3 : 1) * stream_us + 1e-6);
            const double expected = plan.phases[0].latency.microseconds() + stream_us;
            // Rounding: each channel moves whole bytes (a few of 4 KiB / 2,048 count).
            EXPECT_NEAR(plan_time(network, plan).microseconds(), expected, 0.001 * expected)
                << name(kind) << " " << bytes.count() << " " << plan.algorithm;
        }
    }
}

// In LL over eight GPUs a channel is added for every 32 KiB: as many bytes for each, and 36.7 GB/s
// x 16/15 / 2 past the busiest of its edges, which carries 7/4 of them. Published times on an H100
// server: 19.5 us for 64 KiB, 19.9 for 128 KiB.
TEST(NcclNetwork, RingsOfSmallCallsAreHeldByTheirFewChannels) {
    auto node = dgx_h100();
    node.nvls = false;
    const auto network = network_on(cluster_of(1, node, with_nics(400_Gbps)));
    const auto members = first_ranks(8);
    const double edge_us = 32768 * 1.75 / (36.7e3 * 16 / 15 / 2);
    for (const std::uint32_t channels : {1U, 2U, 4U}) {
        const auto call = call_of(CollectiveKind::all_reduce, Bytes{32768 * channels});
        const auto plan = network.plan(call, members);
        EXPECT_EQ(plan.algorithm + plan.protocol, "ringLL");
        EXPECT_EQ(plan.channels, channels);
        EXPECT_NEAR(plan_time(network, plan).microseconds(), 15 + edge_us * 15 / 14, 0.01);
    }
}

// 24 channels on an A100 server: NCCL's 240 GB/s past each edge of the ring, 10 GB/s a channel.
TEST(NcclNetwork, CallsHoldNoMoreSmsThanTheyMayAndMoveAsFewChannelsDo) {
    const auto network = network_on(cluster_of(1, dgx_a100(), with_nics(200_Gbps)), 80);
    const auto members = first_ranks(8);
    auto call = call_of(CollectiveKind::all_gather, 1_GiB);
    const auto stream_seconds = [&](const TransferPlan& plan) {
        return (plan_time(network, plan) - plan.phases[0].latency).seconds();
    };
    const auto all = network.plan(call, members);
    EXPECT_EQ(all.sms, 24u);
    EXPECT_NEAR(stream_seconds(all), 1.073741824 * 7 / 8 / 240, 1e-5);
    for (const int limit : {1, 16, 24, 32}) {
        call.mover.sm_limit = static_cast<std::uint16_t>(limit);
        const auto plan = network.plan(call, members);
        const auto held = static_cast<std::uint32_t>(std::min(limit, 24));
        EXPECT_EQ(plan.sms, held);
        EXPECT_EQ(plan.channels, held);
        EXPECT_EQ(plan.algorithm + plan.protocol, all.algorithm + all.protocol);
        EXPECT_NEAR(stream_seconds(plan), stream_seconds(all) * 24 / held, 1e-4) << limit;
        const auto channels = network.channels_of(call, members, {});
        EXPECT_EQ(channels.front().part, plan.phases[0].parts.front());
    }
}

// Between nodes NICs hold the call back: 8 channels still fill them, one does not.
TEST(NcclNetwork, FewChannelsStillFillNics) {
    const auto network = network_on(cluster_of(2, dgx_a100(), with_nics(100_Gbps)), 80);
    const auto members = first_ranks(16);
    auto call = call_of(CollectiveKind::all_gather, 1_GiB);
    const auto all = network.plan(call, members);
    ASSERT_GT(all.channels, 8u);
    call.mover.sm_limit = 8;
    const auto some = network.plan(call, members);
    EXPECT_EQ(some.sms, 8u);
    EXPECT_LT(plan_time(network, some) / plan_time(network, all), 1.05);
    call.mover.sm_limit = 1;
    EXPECT_GT(plan_time(network, network.plan(call, members)) / plan_time(network, all), 4);
}

TEST(NcclNetwork, AllToAllsOfFewSmsAreSlower) {
    const auto network = network_on(cluster_of(1, dgx_h100(), with_nics(400_Gbps)));
    const auto members = first_ranks(8);
    auto call = call_of(CollectiveKind::all_to_all, 1_GiB);
    const auto all = network.plan(call, members);
    call.mover.sm_limit = 8;
    const auto some = network.plan(call, members);
    EXPECT_EQ(some.sms, 8u);
    EXPECT_NEAR(plan_time(network, some) / plan_time(network, all), all.sms / 8.0, 0.05);
}

TEST(NcclNetwork, CopyEnginesHoldNoSmsAndReachNoOtherNode) {
    const auto network = network_on(cluster_of(2, dgx_a100(), with_nics(200_Gbps)), 80);
    for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
        auto call = call_of(kind, 4_GiB);
        const auto by_sms = network.plan(call, first_ranks(8));
        EXPECT_EQ(by_sms.engine, TransferEngine::sm);
        call.mover.engine = TransferEngine::copy_engine;
        const auto plan = network.plan(call, first_ranks(8));
        EXPECT_EQ(plan.engine, TransferEngine::copy_engine);
        EXPECT_EQ(plan.sms, 0u);
        EXPECT_EQ(plan.channels, 0u);
        EXPECT_EQ(plan.protocol, "");
        EXPECT_NEAR(plan_time(network, plan) / plan_time(network, by_sms), 1, 0.05);
        const auto channels = network.channels_of(call, first_ranks(8), {});
        EXPECT_EQ(channels.front().part, plan.phases[0].parts.front());
        const auto far = network.plan(call, first_ranks(16));
        EXPECT_EQ(far.engine, TransferEngine::sm);
        EXPECT_GT(far.sms, 0u);
    }
}

TEST(NcclNetwork, TheHostMovesWhatCpusExchange) {
    const auto network = network_on(cluster_of(1, pcie_server(), with_nics(200_Gbps)), 0);
    const auto plan = network.plan(call_of(CollectiveKind::all_gather, 1_MiB), first_ranks(8));
    EXPECT_EQ(plan.engine, TransferEngine::host);
    EXPECT_EQ(plan.sms, 0u);
    EXPECT_EQ(network.plan(SendCall{1_MiB}, std::array{RankId{0}, RankId{1}}).engine,
              TransferEngine::host);
}

TEST(NcclNetwork, SlowLinksHoldBackWhatNcclDoesNotKnow) {
    auto cluster = ecmp_cluster(8, dgx_h100());
    cluster.fabric.routing = RoutingKind::spray;
    const auto call = call_of(CollectiveKind::all_gather, 1_GiB);
    const auto members = first_ranks(64);
    const auto full = network_on(cluster);
    const auto full_time = plan_time(full, full.plan(call, members));
    cluster.fabric.oversubscription = 4.0;
    const auto thin = network_on(cluster);
    const auto thin_time = plan_time(thin, thin.plan(call, members));
    EXPECT_EQ(full.estimate(call, members)->time_us, thin.estimate(call, members)->time_us);
    // 4 NICs of 50 GB/s share one uplink of 50 GB/s, but a ring sends only one flow up: no loss.
    EXPECT_NEAR(thin_time / full_time, 1.0, 1e-6);
    cluster.fabric.efficiency = 0.5;
    const auto slow = network_on(cluster);
    const auto slow_time = plan_time(slow, slow.plan(call, members));
    EXPECT_GT(slow_time / full_time, 1.5);
}

TEST(NcclNetwork, GroupsOfOneTakeNothing) {
    const auto network = network_on(cluster_of(1, dgx_h100(), with_nics(400_Gbps)));
    const auto members = first_ranks(1);
    const auto plan = network.plan(call_of(CollectiveKind::all_reduce, 1_MiB), members);
    EXPECT_TRUE(plan.phases.empty());
    EXPECT_EQ(plan.sms, 0u);
    EXPECT_TRUE(network.plan(SendCall{1_MiB}, std::array{members[0], members[0]}).phases.empty());
}

TEST(NcclNetwork, BytesOfNothingTakeOnlyLatency) {
    const auto network = network_on(cluster_of(2, dgx_h100(), with_nics(400_Gbps)));
    const auto members = first_ranks(16);
    for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_to_all}) {
        const auto plan = network.plan(call_of(kind, Bytes{}), members);
        ASSERT_EQ(plan.phases.size(), 1u);
        EXPECT_EQ(plan_time(network, plan), plan.phases[0].latency);
    }
}

TEST(NcclNetwork, SendsAreLimitedByNvlinkOrNic) {
    const auto network = network_on(cluster_of(2, dgx_h100(), with_nics(400_Gbps)));
    const auto time = [&](std::size_t from, std::size_t to) {
        const auto plan =
            network.plan(SendCall{1_GB}, std::array{to_id<RankId>(from), to_id<RankId>(to)});
        return (plan_time(network, plan).seconds() - plan.phases[0].latency.seconds());
    };
    EXPECT_NEAR(time(0, 1), 1 / 370.8, 1e-6);
    EXPECT_NEAR(time(0, 8), 1 / 50.0, 1e-6);
    EXPECT_NEAR(time(0, 9), 1 / 50.0, 1e-6);
    const auto small =
        network.plan(SendCall{1_KiB}, std::array{to_id<RankId>(0), to_id<RankId>(8)});
    EXPECT_EQ(small.channels, 1u);
    EXPECT_EQ(network.plan(SendCall{1_GB}, std::array{to_id<RankId>(0), to_id<RankId>(8)}).channels,
              2u);
}

TEST(NcclNetwork, AllToAllBetweenNodesIsLimitedByNics) {
    const auto network = network_on(cluster_of(8, dgx_h100(), with_nics(400_Gbps)));
    const auto members = first_ranks(64);
    const auto plan = network.plan(call_of(CollectiveKind::all_to_all, 64_MiB), members);
    const double seconds = plan_time(network, plan).seconds() - plan.phases[0].latency.seconds();
    EXPECT_NEAR(seconds, 56.0 * (1 << 20) / 50e9, 1e-6);
    // On one node: all bytes, the rank's own part among them, at NCCL's NVLink bandwidth.
    const auto eight = first_ranks(8);
    const auto local = network.plan(call_of(CollectiveKind::all_to_all, 64_MiB), eight);
    EXPECT_NEAR(plan_time(network, local).seconds() - local.phases[0].latency.seconds(),
                64.0 * (1 << 20) / 370.8e9,
                1e-6);
}

// Adaptive routing opens each connection where there are fewest; it stays there.
TEST(NcclNetwork, AdaptiveConnectionsSpreadEvenlyAndStay) {
    ClusterSpec cluster = ecmp_cluster(8, dgx_h100());
    const auto fullest = [&](RoutingKind routing) {
        cluster.fabric.routing = routing;
        const NcclNetwork network(built(cluster), {});
        std::vector<std::uint32_t> flows(network.links().size(), 0);
        std::uint32_t most = 0;
        for (std::uint32_t gpu = 0; gpu < 32; ++gpu) {
            const auto plan =
                network.plan(SendCall{Bytes(1 << 20)}, std::array{RankId{gpu}, RankId{gpu + 32}});
            const auto again =
                network.plan(SendCall{Bytes(1 << 20)}, std::array{RankId{gpu}, RankId{gpu + 32}});
            EXPECT_TRUE(plan.phases == again.phases);
            for (const auto& part : plan.phases.at(0).parts) {
                for (const auto& share : part.footprint) {
                    const auto l = index(share.link);
                    if (network.links()[l].link_class ==
                        static_cast<std::uint16_t>(LinkClass::leaf_uplink)) {
                        most = std::max(most, flows[l] += share.count);
                    }
                }
            }
        }
        return most;
    };
    EXPECT_EQ(fullest(RoutingKind::adaptive), 2U);  // two channels a connection, as many uplinks
    EXPECT_GT(fullest(RoutingKind::ecmp), 2U);
}

TEST(NcclNetwork, ChannelsNeverHoldMoreSmsThanThereAre) {
    const NcclNetwork network(built(cluster_of(1, dgx_h100(), with_nics(400_Gbps))),
                              {.compute_capability = 90, .num_sms = 10});
    const auto plan = network.plan(call_of(CollectiveKind::all_gather, 1_GiB), first_ranks(8));
    EXPECT_EQ(plan.channels, 24u);
    EXPECT_EQ(plan.sms, 10u);
}

TEST(NcclNetwork, FootprintsAreWellFormedAndPlansRepeat) {
    auto cluster = ecmp_cluster(12, dgx_h100());
    const auto a = network_on(cluster);
    const auto b = network_on(cluster);
    std::vector<RankId> members;
    for (std::size_t i = 0; i < 12; ++i) {
        members.push_back(to_id<RankId>(8 * i + i % 3));  // ragged: different rails
    }
    for (const auto kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
        for (const Bytes bytes : {64_KiB, 64_MiB}) {
            const auto plan = a.plan(call_of(kind, bytes), members);
            EXPECT_EQ(plan.phases, b.plan(call_of(kind, bytes), members).phases);
            EXPECT_EQ(plan.phases, a.plan(call_of(kind, bytes), members).phases);
            for (const auto& part : plan.phases[0].parts) {
                EXPECT_GT(part.bytes, Bytes{});
                EXPECT_GT(part.rate_max, Bandwidth{});
                for (std::size_t i = 1; i < part.footprint.size(); ++i) {
                    ASSERT_LT(part.footprint[i - 1].link, part.footprint[i].link);
                }
            }
        }
    }
}

}  // namespace
}  // namespace orrery
