// SPDX-License-Identifier: Apache-2.0
#include "network/congestion_factors.h"

#include <gtest/gtest.h>

#include "network/nccl_network.h"
#include "tests/network/dgx_clusters.h"
#include "tests/network/plan_time.h"

namespace orrery {
namespace {

using namespace literals;

TEST(CongestionFactors, FabricsAreAlikeIfLinksTiersAndRoutingAre) {
    FabricSpec a = with_nics(400_Gbps);
    a.kind = FabricKind::clos;
    EXPECT_EQ(first_difference(a, a), "");
    FabricSpec b = a;
    b.nodes_per_leaf_set *= 2;  // sizes may differ
    b.hash_seed = 7;
    b.uplink_bandwidth = b.nic_bandwidth;  // what it is anyway
    b.core_bandwidth = b.nic_bandwidth;
    EXPECT_EQ(first_difference(a, b), "");
    b.routing = RoutingKind::spray;
    EXPECT_EQ(first_difference(a, b), "routing");
    b.oversubscription = 3;
    EXPECT_EQ(first_difference(a, b), "oversubscription");
    b.tiers = 2;
    EXPECT_EQ(first_difference(a, b), "tiers");
    b.kind = FabricKind::single_switch;
    EXPECT_EQ(first_difference(a, b), "kind");
    EXPECT_EQ(first_difference(b, b), "");
}

NcclNetwork network_under(const CongestionFactors& factors, const ClusterSpec& cluster) {
    return NcclNetwork(built(cluster),
                       {.compute_capability = 90, .num_sms = 132, .congestion = factors});
}

CongestionFactors factors_of(double efficiency, Time delay) {
    CongestionFactors factors;
    factors.ring = factors.all_to_all = factors.point_to_point = {efficiency, delay};
    return factors;
}

// Time = start-up + bytes / fair share, and under factors: + delay, bytes / fair share /
// efficiency.
TEST(CongestionFactors, BytesTakeLongerByTheEfficiencyWhereTheNetworkLimits) {
    auto cluster = ecmp_cluster(8, dgx_h100());
    cluster.fabric.efficiency = 0.3;  // slow links: NCCL limits nothing
    const auto fair = network_under(factors_of(1, Time{}), cluster);
    const auto half = network_under(factors_of(0.5, 40_us), cluster);
    const auto members = first_ranks(64);
    const auto expect = [&](const TransferPlan& a, const TransferPlan& b) {
        const Time start = a.phases.at(0).latency;
        EXPECT_EQ(b.phases.at(0).latency, start + 40_us);
        const double bytes = (plan_time(fair, a) - start).seconds();
        const double bytes_half = (plan_time(half, b) - start - 40_us).seconds();
        EXPECT_NEAR(bytes_half / bytes, 2, 1e-3) << a.algorithm;
    };
    for (const auto kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
        CollectiveCall call;
        call.kind = kind;
        call.bytes = 1_GiB;
        expect(fair.plan(call, members), half.plan(call, members));
        // Channels one by one are no different.
        const auto channels = half.channels_of(call, members, {});
        std::int64_t sum = 0;
        std::int64_t merged = 0;
        for (const auto& channel : channels) {
            sum += channel.part.bytes.count() * channel.part.footprint.at(0).count;
        }
        const TransferPlan whole = half.plan(call, members);
        for (const auto& part : whole.phases.at(0).parts) {
            merged += part.bytes.count() * part.footprint.at(0).count;
        }
        EXPECT_GT(sum, 0);
        EXPECT_GT(merged, 0);
    }
    expect(fair.plan(SendCall{1_GiB}, std::array{to_id<RankId>(0), to_id<RankId>(40)}),
           half.plan(SendCall{1_GiB}, std::array{to_id<RankId>(0), to_id<RankId>(40)}));
}

TEST(CongestionFactors, WhatStaysInAServerAndWhatNcclLimitsIsNoSlower) {
    const auto cluster = ecmp_cluster(8, dgx_h100());
    const auto fair = network_under(factors_of(1, Time{}), cluster);
    const auto half = network_under(factors_of(0.5, 40_us), cluster);
    CollectiveCall call;
    call.kind = CollectiveKind::all_reduce;
    call.bytes = 64_MiB;
    const auto inside = first_ranks(8);
    EXPECT_EQ(plan_time(half, half.plan(call, inside)), plan_time(fair, fair.plan(call, inside)));
    EXPECT_EQ(half.plan(SendCall{1_MiB}, std::array{to_id<RankId>(0), to_id<RankId>(3)}).phases,
              fair.plan(SendCall{1_MiB}, std::array{to_id<RankId>(0), to_id<RankId>(3)}).phases);
    // At nearly full efficiency the protocol's own rate rules, not the links.
    const auto nearly = network_under(factors_of(0.999, Time{}), cluster);
    call.bytes = 64_KiB;  // LL: half of the line and less
    const auto all = first_ranks(64);
    EXPECT_NEAR(plan_time(nearly, nearly.plan(call, all)).seconds(),
                plan_time(fair, fair.plan(call, all)).seconds(),
                1e-4 * plan_time(fair, fair.plan(call, all)).seconds());
}

}  // namespace
}  // namespace orrery
