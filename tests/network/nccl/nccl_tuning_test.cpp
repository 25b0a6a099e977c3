// SPDX-License-Identifier: Apache-2.0
// The numbers come from NCCL 2.28.9's own formulas, worked out by an independent program.
#include "network/nccl/nccl_tuning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace orrery {
namespace {

using A = NcclAlgorithm;
using F = NcclFunction;
using P = NcclProtocol;

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kGiB = 1024 * kMiB;

NcclCommunicator one_node_of_8() {
    NcclCommunicator c{
        .num_nodes = 1, .num_ranks = 8, .channels = 24, .nvls_channels = 16, .nvswitch = true};
    c.graph(A::ring) = c.graph(A::tree) = {.channels = 12, .bw_intra = 30, .bw_inter = 30};
    c.graph(A::nvls) = {.channels = 16, .bw_intra = 22.5, .bw_inter = 22.5};
    return c;
}

NcclCommunicator nodes_of_8(std::uint32_t nodes) {
    NcclCommunicator c{.num_nodes = nodes,
                       .num_ranks = 8 * nodes,
                       .channels = 16,
                       .nvls_channels = 16,
                       .nvswitch = true};
    c.graph(A::ring) = c.graph(A::tree) = c.graph(A::nvls_tree) = {
        .channels = 8, .bw_intra = 45, .bw_inter = 45, .type_inter = NcclPath::pxn};
    return c;
}

NcclCommunicator eight_nodes_of_1() {
    NcclCommunicator c{.num_nodes = 8, .num_ranks = 8, .channels = 4};
    c.graph(A::ring) = c.graph(A::tree) = c.graph(A::pat) = {
        .channels = 2, .bw_intra = 24, .bw_inter = 24, .type_intra = NcclPath::loc};
    return c;
}

struct Row {
    A algorithm;
    P protocol;
    double latency_us;
    double bandwidth;
};

void expect_table(const NcclCommunicator& c, F function, const std::vector<Row>& rows) {
    const NcclTuning tuning(c);
    for (const auto& row : rows) {
        const std::string what = std::to_string(c.num_nodes) + " nodes " +
                                 std::string(name(row.algorithm)) + " " +
                                 std::string(name(row.protocol));
        EXPECT_NEAR(tuning.latency_us(function, row.algorithm, row.protocol), row.latency_us, 1e-9)
            << what;
        EXPECT_NEAR(tuning.bandwidth(function, row.algorithm, row.protocol), row.bandwidth, 5e-5)
            << what;
    }
}

TEST(NcclTuning, AllReduceTableOfOneNode) {
    expect_table(one_node_of_8(),
                 F::all_reduce,
                 {{A::ring, P::ll, 15.0, 80.5714},
                  {A::ring, P::ll128, 40.6, 189.2571},
                  {A::ring, P::simple, 56.0, 205.7143},
                  {A::tree, P::ll, 15.2, 43.5789},
                  {A::tree, P::ll128, 31.5, 128.8},
                  {A::tree, P::simple, 64.4, 165.6},
                  {A::nvls, P::simple, 25.0, 205.7143}});
}

TEST(NcclTuning, AllReduceTableOfSeveralNodes) {
    expect_table(nodes_of_8(2),
                 F::all_reduce,
                 {{A::ring, P::ll, 40.0, 20.8},
                  {A::ring, P::ll128, 75.2, 156.5867},
                  {A::ring, P::simple, 131.6, 192.0},
                  {A::tree, P::ll, 25.2, 19.5},
                  {A::tree, P::ll128, 48.5, 146.8},
                  {A::tree, P::simple, 92.4, 165.6},
                  {A::nvls_tree, P::simple, 66.8, 246.1867}});
    expect_table(nodes_of_8(16),
                 F::all_reduce,
                 {{A::ring, P::ll, 311.6, 10.2803},
                  {A::ring, P::ll128, 559.6, 147.9559},
                  {A::ring, P::simple, 1190.0, 181.4173},
                  {A::tree, P::ll, 55.2, 10.2},
                  {A::tree, P::ll128, 99.5, 116.0},
                  {A::tree, P::simple, 176.4, 144.0},
                  {A::nvls_tree, P::simple, 192.2, 181.4173}});
    expect_table(nodes_of_8(128),
                 F::all_reduce,
                 {{A::ring, P::ll, 2484.4, 10.21},
                  {A::ring, P::ll128, 4434.8, 146.9435},
                  {A::ring, P::simple, 9657.2, 180.176},
                  {A::tree, P::ll, 85.2, 10.2},
                  {A::tree, P::ll128, 150.5, 116.0},
                  {A::tree, P::simple, 260.4, 144.0},
                  {A::nvls_tree, P::simple, 317.6, 180.176}});
}

TEST(NcclTuning, AllReduceTableOfOneGpuPerNode) {
    expect_table(eight_nodes_of_1(),
                 F::all_reduce,
                 {{A::ring, P::ll, 76.6, 11.6571},
                  {A::ring, P::ll128, 133.0, 25.2343},
                  {A::ring, P::simple, 204.4, 27.4286},
                  {A::tree, P::ll, 36.8, 5.8105},
                  {A::tree, P::ll128, 65.0, 20.7},
                  {A::tree, P::simple, 92.4, 22.08}});
}

TEST(NcclTuning, AllGatherTables) {
    for (const auto function : {F::all_gather, F::reduce_scatter}) {
        expect_table(one_node_of_8(),
                     function,
                     {{A::ring, P::ll, 10.8, 161.1429},
                      {A::ring, P::ll128, 27.3, 378.5143},
                      {A::ring, P::simple, 32.2, 411.4286},
                      {A::nvls, P::simple, 25.0, 251.0156}});
        expect_table(nodes_of_8(16),
                     function,
                     {{A::ring, P::ll, 159.1, 20.5606},
                      {A::ring, P::ll128, 286.8, 295.9118},
                      {A::ring, P::simple, 599.2, 362.8346}});
        expect_table(eight_nodes_of_1(),
                     function,
                     {{A::ring, P::ll, 41.6, 23.3143},
                      {A::ring, P::ll128, 73.5, 50.4686},
                      {A::ring, P::simple, 106.4, 54.8571},
                      {A::pat, P::simple, 42.4, 36.0}});
    }
}

TEST(NcclTuning, BroadcastTableWithDifferentChannels) {
    auto c = eight_nodes_of_1();
    c.graph(A::ring).same_channels = false;
    expect_table(c,
                 F::broadcast,
                 {{A::ring, P::ll, 28.2, 20.4},
                  {A::ring, P::ll128, 46.0, 44.16},
                  {A::ring, P::simple, 120.4, 48.0}});
}

struct Pick {
    std::int64_t bytes;
    A algorithm;
    P protocol;
    double time_us;
};

void expect_picks(const NcclCommunicator& c, F function, const std::vector<Pick>& picks) {
    const NcclTuning tuning(c);
    for (const auto& pick : picks) {
        const auto choice = tuning.choose(function, pick.bytes, Dtype::bf16);
        EXPECT_EQ(name(choice.algorithm), name(pick.algorithm)) << pick.bytes;
        EXPECT_EQ(name(choice.protocol), name(pick.protocol)) << pick.bytes;
        EXPECT_NEAR(choice.time_us, pick.time_us, 5e-4) << pick.bytes;
    }
}

TEST(NcclTuning, PicksOfAllReduceOverSeveralNodes) {
    const auto picks = [](double a, double b, double c, double d) {
        return std::vector<Pick>{{64 * kKiB, A::tree, P::ll, a},
                                 {1 * kMiB, A::tree, P::ll128, b},
                                 {64 * kMiB, A::nvls_tree, P::simple, c},
                                 {1 * kGiB, A::nvls_tree, P::simple, d}};
    };
    expect_picks(nodes_of_8(2), F::all_reduce, picks(30.801, 60.405, 339.393, 4428.295));
    expect_picks(nodes_of_8(4), F::all_reduce, picks(45.908, 80.566, 469.776, 5887.419));
    expect_picks(nodes_of_8(16), F::all_reduce, picks(65.908, 114.566, 562.114, 6110.829));
    expect_picks(nodes_of_8(128), F::all_reduce, picks(95.908, 165.566, 690.063, 6277.007));
}

TEST(NcclTuning, PicksOfOneNode) {
    expect_picks(one_node_of_8(),
                 F::all_reduce,
                 {{1 * kKiB, A::ring, P::ll, 15.013},
                  {64 * kKiB, A::ring, P::ll, 15.813},
                  {1 * kMiB, A::ring, P::ll, 28.014},
                  {16 * kMiB, A::nvls, P::simple, 106.556},
                  {256 * kMiB, A::nvls, P::simple, 1329.895}});
    expect_picks(one_node_of_8(),
                 F::all_gather,
                 {{64 * kKiB, A::ring, P::ll, 11.207},
                  {1 * kMiB, A::ring, P::ll, 17.307},
                  {16 * kMiB, A::ring, P::ll128, 71.624},
                  {256 * kMiB, A::ring, P::simple, 684.647}});
}

TEST(NcclTuning, PicksOfOneGpuPerNode) {
    expect_picks(eight_nodes_of_1(),
                 F::all_reduce,
                 {{1 * kKiB, A::tree, P::ll, 36.996},
                  {64 * kKiB, A::tree, P::ll, 55.598},
                  {1 * kMiB, A::tree, P::ll128, 149.426},
                  {16 * kMiB, A::ring, P::ll128, 797.858},
                  {256 * kMiB, A::ring, P::simple, 10072.869}});
    expect_picks(eight_nodes_of_1(),
                 F::all_gather,
                 {{1 * kKiB, A::ring, P::ll, 41.644},
                  {64 * kKiB, A::pat, P::simple, 44.220},
                  {1 * kMiB, A::pat, P::simple, 71.527},
                  {16 * kMiB, A::ring, P::ll128, 405.929},
                  {256 * kMiB, A::ring, P::simple, 4999.755}});
}

TEST(NcclTuning, RingsPayForTheirStepsAtScale) {
    expect_picks(nodes_of_8(2), F::all_gather, {{256 * kMiB, A::ring, P::simple, 769.051}});
    expect_picks(nodes_of_8(16), F::all_gather, {{256 * kMiB, A::ring, P::ll128, 1193.947}});
    expect_picks(nodes_of_8(128), F::all_gather, {{256 * kMiB, A::ring, P::ll128, 3137.797}});
}

TEST(NcclTuning, SmallCallsRunOnFewChannels) {
    const NcclTuning tuning(one_node_of_8());
    EXPECT_EQ(tuning.choose(F::all_reduce, 8, Dtype::fp32).channels, 1u);
    // LL on a ring: 512 threads take 8 bytes of each of 8 ranks a channel: 32 KiB each.
    const auto small = tuning.estimate(F::all_reduce, A::ring, P::ll, 96 * kKiB);
    EXPECT_EQ(small->channels, 3u);
    EXPECT_EQ(small->threads, 512u);
    EXPECT_EQ(tuning.estimate(F::all_reduce, A::ring, P::simple, kGiB)->channels, 24u);
    EXPECT_EQ(tuning.estimate(F::all_reduce, A::nvls, P::simple, kGiB)->channels, 16u);
}

TEST(NcclTuning, WhatTheSwitchCannotAddRunsWithoutNvls) {
    const NcclTuning tuning(one_node_of_8());
    EXPECT_EQ(tuning.choose(F::all_reduce, kGiB, Dtype::bf16).algorithm, A::nvls);
    EXPECT_EQ(tuning.choose(F::all_reduce, kGiB, Dtype::uint8).algorithm, A::ring);
    // A ring of 16 ranks would add fp8 values one after the other; a tree adds them in pairs.
    const NcclTuning two(nodes_of_8(2));
    EXPECT_EQ(two.choose(F::all_reduce, kGiB, Dtype::fp8).algorithm, A::tree);
    EXPECT_EQ(two.choose(F::all_gather, kGiB, Dtype::fp8).algorithm, A::ring);
}

// Two messages (down and up) of a tree over two nodes; Simple waits 3 us more for each. One that is
// faster than NCCL's constants changes nothing.
TEST(NcclTuning, ASlowNetworksMessagesTakeTheirTime) {
    NcclCommunicator c = nodes_of_8(2);
    const NcclTuning fast(c);
    c.message_us = 20;
    const NcclTuning slow(c);
    for (const auto& [protocol, table] :
         {std::pair{P::ll, 5.0}, {P::ll128, 8.5}, {P::simple, 14.0}}) {
        const double wait = protocol == P::simple ? 23 : 20;
        EXPECT_NEAR(slow.latency_us(F::all_reduce, A::tree, protocol) -
                        fast.latency_us(F::all_reduce, A::tree, protocol),
                    2 * (wait - table),
                    1e-9);
    }
    c.message_us = 1;
    EXPECT_EQ(NcclTuning(c).latency_us(F::all_reduce, A::tree, P::ll),
              fast.latency_us(F::all_reduce, A::tree, P::ll));
}

// Messages that the plugin sends eagerly don't take the latency that it reports; the choice is
// NCCL's, who adds it. Ring messages are parts of n ranks, and LL's have as many bytes of flags.
TEST(NcclTuning, EagerMessagesDontTakeTheReportedLatency) {
    NcclCommunicator c = nodes_of_8(4);
    c.message_us = 20;
    const NcclTuning fast(c);
    for (NcclGraph& graph : c.graphs) {
        graph.latency_inter = 75;
    }
    const auto told = [&](A algorithm, P protocol) {
        c.choices = {{.function = F::all_reduce,
                      .ranks_per_node = 8,
                      .ranks = 32,
                      .bytes = 0,
                      .choice = NcclCombination{algorithm, protocol}}};
    };
    const auto latency = [&](std::int64_t bytes) {
        return NcclTuning(c).choose(F::all_reduce, bytes, Dtype::bf16).latency_us;
    };
    told(A::tree, P::ll128);
    const double eager = fast.latency_us(F::all_reduce, A::tree, P::ll128);
    const double reported = NcclTuning(c).latency_us(F::all_reduce, A::tree, P::ll128);
    EXPECT_NEAR(reported - eager, 4 * (83.5 - 20), 1e-9);
    EXPECT_NEAR(latency(4096), reported, 1e-9);  // no plugin that sends eagerly
    c.eager_bytes = 8192;
    // Of one channel, whose lines of 128 bytes hold 120 of data.
    EXPECT_NEAR(latency(4096), eager, 1e-9);
    EXPECT_NEAR(latency(64 << 20), reported, 1e-9);

    told(A::ring, P::ll);
    const NcclChoice ring =
        NcclTuning(c).choose(F::all_reduce, 4096 * 32 * std::int64_t{c.channels}, Dtype::bf16);
    ASSERT_EQ(ring.channels, c.channels);
    EXPECT_NEAR(ring.latency_us, fast.latency_us(F::all_reduce, A::ring, P::ll), 1e-9);
    EXPECT_NEAR(latency(4097 * 32 * std::int64_t{c.channels}),
                NcclTuning(c).latency_us(F::all_reduce, A::ring, P::ll),
                1e-9);
}

TEST(NcclTuning, Ll128NeedsShortPaths) {
    auto c = nodes_of_8(2);
    c.compute_capability = 80;  // only up to PXB there
    EXPECT_EQ(NcclTuning(c).bandwidth(F::all_reduce, A::ring, P::ll128), 0.0);
    c.graph(A::ring).type_inter = NcclPath::pxb;
    EXPECT_GT(NcclTuning(c).bandwidth(F::all_reduce, A::ring, P::ll128), 0.0);
    c.graph(A::ring).type_intra = NcclPath::phb;
    EXPECT_EQ(NcclTuning(c).bandwidth(F::all_reduce, A::ring, P::ll128), 0.0);
}

// aws-ofi-nccl's tuner has LL128 trees where NCCL would take NVLSTree.
TEST(NcclTuning, APluginsChoicePrecedesItsOwn) {
    NcclCommunicator c = nodes_of_8(8);
    const NcclChoice own = NcclTuning(c).choose(F::all_reduce, 64 * kMiB, Dtype::fp32);
    EXPECT_EQ(own.algorithm, A::nvls_tree);
    c.choices = {{F::all_reduce, 8, 64, 0, NcclCombination{A::tree, P::ll128}},
                 {F::all_reduce, 8, 64, kGiB, NcclCombination{A::pat, P::simple}}};
    const NcclTuning tuning(c);
    const NcclChoice told = tuning.choose(F::all_reduce, 64 * kMiB, Dtype::fp32);
    EXPECT_EQ(told.algorithm, A::tree);
    EXPECT_EQ(told.protocol, P::ll128);
    EXPECT_GT(told.time_us, own.time_us);
    // PAT has no all_reduce.
    EXPECT_EQ(tuning.choose(F::all_reduce, kGiB, Dtype::fp32).algorithm,
              NcclTuning(nodes_of_8(8)).choose(F::all_reduce, kGiB, Dtype::fp32).algorithm);
}

// Switches cannot add FP8, whatever a plugin says.
TEST(NcclTuning, APluginsMulticastIsOnlyForTypesThatSwitchesAdd) {
    NcclCommunicator c = nodes_of_8(2);
    c.choices = {{F::all_reduce, 8, 16, 0, NcclCombination{A::nvls_tree, P::simple}}};
    const NcclTuning tuning(c);
    EXPECT_EQ(tuning.choose(F::all_reduce, kKiB, Dtype::fp32).algorithm, A::nvls_tree);
    EXPECT_NE(tuning.choose(F::all_reduce, kKiB, Dtype::fp8).algorithm, A::nvls_tree);
}

// NCCL's estimate has a plugin's latency twice for Simple, but Hopper's calls do not flush.
TEST(NcclTuning, AReportedLatencyIsSpentOnceWithoutAFlush) {
    constexpr double kReported = 75;
    constexpr std::uint32_t kNodes = 8;
    NcclCommunicator c = nodes_of_8(kNodes);
    for (const A a : {A::ring, A::tree, A::nvls_tree}) {
        c.graph(a).latency_inter = kReported;
    }
    c.choices = {{F::all_gather, 8, 8 * kNodes, 0, NcclCombination{A::ring, P::simple}},
                 {F::all_gather, 8, 8 * kNodes, kGiB, NcclCombination{A::ring, P::ll128}}};
    const auto flush = [&](std::int64_t bytes, P protocol) {
        const NcclTuning tuning(c);
        const auto estimate = tuning.estimate(F::all_gather, A::ring, protocol, bytes);
        const NcclChoice choice = tuning.choose(F::all_gather, bytes, Dtype::bf16);
        EXPECT_EQ(choice.protocol, protocol);
        EXPECT_EQ(choice.time_us, estimate->time_us);
        return estimate->latency_us - choice.latency_us;
    };
    EXPECT_NEAR(flush(kMiB, P::simple), (kNodes - 1) * kReported, 1e-6);
    EXPECT_EQ(flush(kGiB, P::ll128), 0);
    c.compute_capability = 80;
    EXPECT_EQ(flush(kMiB, P::simple), 0);
}

}  // namespace
}  // namespace orrery
