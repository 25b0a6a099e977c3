// SPDX-License-Identifier: Apache-2.0
// MegaScale (Jiang et al., NSDI 2024), section 3.6, "Network performance tuning": ToR ports split
// in two so that uplinks outrun NICs, communicating servers under one set of ToRs, and RTT with ECN
// in place of DCQCN. Each by itself must raise what all_reduce and all_to_all reach on packets over
// plain ECMP with DCQCN, and all three together must raise it most.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "scenarios/studies/network/network_pattern.h"
#include "scenarios/studies/network/packet_study.h"
#include "tests/scenarios/network_cluster.h"

namespace orrery {
namespace {

using namespace literals;

struct Measures {
    bool split_ports = false;
    bool placement = false;
    bool rtt_and_ecn = false;
};

// 32 servers in four leaf sets, in four groups of eight consecutive ranks that run their collective
// at the same time (data-parallel or expert groups do). The mean over hash seeds: one hash may be
// lucky.
double bandwidth(CollectiveKind kind, Bytes bytes, const Measures& with) {
    constexpr int kSeeds = 4;
    double sum = 0;
    for (int seed = 0; seed < kSeeds; ++seed) {
        Scenario scenario = leaf_spine_scenario(8);
        ClusterSpec& cluster = scenario.cluster;
        cluster.num_nodes = 32;
        cluster.fabric.nic_bandwidth = 200_Gbps;
        cluster.fabric.uplink_bandwidth = with.split_ports ? 400_Gbps : 200_Gbps;
        cluster.fabric.hash_seed = static_cast<std::uint64_t>(seed);
        if (!with.placement) {
            for (std::uint32_t rank = 0; rank < 32; ++rank) {
                cluster.gpu_of_rank.push_back(rank % 4 * 8 + rank / 4);
            }
        }
        scenario.network_settings.packet.parameters = packet::published_parameters(
            with.rtt_and_ecn ? packet::CongestionKind::megascale : packet::CongestionKind::dcqcn);
        const auto study = PacketStudy::make(cluster, scenario.network_settings);
        EXPECT_TRUE(study) << study.error().to_string();
        const NcclNetwork network(study->fabric(), {.number_connections = true});
        std::vector<NicMessage> messages;
        for (std::uint32_t group = 0; group < 4; ++group) {
            std::vector<RankId> members;
            for (std::uint32_t i = 0; i < 8; ++i) {
                members.push_back(to_id<RankId>(8 * group + i));
            }
            const CollectiveCall call{.kind = kind, .bytes = bytes, .wire = Dtype::fp32};
            const auto own = messages_of_transfer(network, call, members);
            messages.insert(messages.end(), own.begin(), own.end());
        }
        const auto run = study->run(messages, nullptr);
        EXPECT_TRUE(run);
        EXPECT_TRUE(run->finished);
        sum += static_cast<double>(bytes.count()) * 1e-9 / run->end.seconds();
    }
    return sum / kSeeds * bus_factor(kind, 8);
}

// GB/s of bus bandwidth.
struct Reached {
    double plain, split, placed, hybrid, all;
};

Reached reached(CollectiveKind kind, Bytes bytes) {
    const Reached r{
        .plain = bandwidth(kind, bytes, {}),
        .split = bandwidth(kind, bytes, {.split_ports = true}),
        .placed = bandwidth(kind, bytes, {.placement = true}),
        .hybrid = bandwidth(kind, bytes, {.rtt_and_ecn = true}),
        .all =
            bandwidth(kind, bytes, {.split_ports = true, .placement = true, .rtt_and_ecn = true})};
    std::printf(
        "%s of %.0f MB, GB/s: plain %.2f, split %.2f, placed %.2f, RTT and ECN %.2f, all "
        "%.2f\n",
        std::string{name(kind)}.c_str(),
        1e-6 * static_cast<double>(bytes.count()),
        r.plain,
        r.split,
        r.placed,
        r.hybrid,
        r.all);
    return r;
}

// At 4 and 64 MB it is so too. Small collectives are over before DCQCN's rates have broken down:
// RTT and ECN help where a connection sends some 2 MB (all_reduce of 2 MB on two channels,
// all_to_all of 16 MB), and do no harm below.
TEST(MegaScaleMeasures, EachRaisesAllReduceAndAllToAll) {
    for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_to_all}) {
        for (const std::int64_t megabytes : {1, 2, 16}) {
            const Reached r = reached(kind, Bytes{megabytes * 1'000'000});
            const auto what = std::string{name(kind)} + " " + std::to_string(megabytes) + " MB";
            const bool ends_early = megabytes < (kind == CollectiveKind::all_to_all ? 16 : 2);
            EXPECT_GT(r.split, 1.02 * r.plain) << what;
            EXPECT_GT(r.placed, 1.02 * r.plain) << what;
            EXPECT_GT(r.hybrid, (ends_early ? 0.98 : 1.02) * r.plain) << what;
            EXPECT_GE(r.all, 0.98 * std::max({r.split, r.placed, r.hybrid})) << what;
        }
    }
}

}  // namespace
}  // namespace orrery
