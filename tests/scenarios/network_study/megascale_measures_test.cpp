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

#include "scenarios/network_study/network_pattern.h"
#include "scenarios/network_study/packet_study.h"
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
double bandwidth(CollectiveKind kind, const Measures& with) {
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
        const Bytes bytes{16'000'000};
        std::vector<NicMessage> messages;
        for (std::uint32_t group = 0; group < 4; ++group) {
            std::vector<RankId> members;
            for (std::uint32_t i = 0; i < 8; ++i) {
                members.push_back(to_id<RankId>(8 * group + i));
            }
            const auto own = messages_of_collective(study->fabric(), members, kind, bytes);
            messages.insert(messages.end(), own.begin(), own.end());
        }
        const auto run = study->run(messages, nullptr);
        EXPECT_TRUE(run);
        EXPECT_TRUE(run->finished);
        sum += static_cast<double>(bytes.count()) * 1e-9 / run->end.seconds();
    }
    return sum / kSeeds * bus_factor(kind, 8);
}

TEST(MegaScaleMeasures, EachRaisesAllReduceAndAllToAll) {
    for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_to_all}) {
        const std::string pattern{name(kind)};
        const double plain = bandwidth(kind, {});
        const double split = bandwidth(kind, {.split_ports = true});
        const double placed = bandwidth(kind, {.placement = true});
        const double hybrid = bandwidth(kind, {.rtt_and_ecn = true});
        const double all =
            bandwidth(kind, {.split_ports = true, .placement = true, .rtt_and_ecn = true});
        std::printf("%s, GB/s: plain %.2f, split %.2f, placed %.2f, RTT and ECN %.2f, all %.2f\n",
                    pattern.c_str(),
                    plain,
                    split,
                    placed,
                    hybrid,
                    all);
        EXPECT_GT(split, 1.02 * plain) << pattern;
        EXPECT_GT(placed, 1.02 * plain) << pattern;
        EXPECT_GT(hybrid, 1.02 * plain) << pattern;
        EXPECT_GE(all, 0.98 * std::max({split, placed, hybrid})) << pattern;
    }
}

}  // namespace
}  // namespace orrery
