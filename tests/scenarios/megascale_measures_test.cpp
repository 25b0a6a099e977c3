// SPDX-License-Identifier: Apache-2.0
// MegaScale (Jiang et al., NSDI 2024), section 3.6, "Network performance tuning": ToR ports split
// in two so that uplinks outrun NICs, communicating servers under one set of ToRs, and RTT with ECN
// in place of DCQCN. Each by itself must raise what all_reduce and all_to_all reach on packets over
// plain ECMP with DCQCN, and all three together must raise it most.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "scenarios/network_study.h"
#include "tests/scenarios/network_cluster.h"

namespace orrery {
namespace {

using namespace literals;

struct Measures {
    bool split_ports = false;
    bool placement = false;
    bool rtt_and_ecn = false;
};

// 32 servers in four leaf sets, of which a job has sixteen. The mean over hash seeds: one hash may
// be lucky.
double bandwidth(const std::string& pattern, const Measures& with) {
    constexpr int kSeeds = 6;
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
        scenario.network = NetworkFidelity::packet;
        scenario.network_settings.packet.parameters = packet::published_parameters(
            with.rtt_and_ecn ? packet::CongestionKind::megascale : packet::CongestionKind::dcqcn);
        NetworkTrace trace;
        const auto answer = study_network(
            scenario,
            {.pattern = pattern, .sizes = {Bytes(8'000'000)}, .ranks = 16, .trace = false},
            trace);
        EXPECT_TRUE(answer) << answer.error().to_string();
        EXPECT_TRUE(answer->rows.at(0).finished);
        sum += answer->rows.at(0).busbw;
    }
    return sum / kSeeds;
}

TEST(MegaScaleMeasures, EachRaisesAllReduceAndAllToAll) {
    for (const char* pattern : {"all_reduce", "all_to_all"}) {
        const double plain = bandwidth(pattern, {});
        const double split = bandwidth(pattern, {.split_ports = true});
        const double placed = bandwidth(pattern, {.placement = true});
        const double hybrid = bandwidth(pattern, {.rtt_and_ecn = true});
        const double all =
            bandwidth(pattern, {.split_ports = true, .placement = true, .rtt_and_ecn = true});
        printf(
            "%s: plain %.2f GB/s, split ports %.2f, placement %.2f, RTT and ECN %.2f, all %.2f\n",
            pattern,
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
