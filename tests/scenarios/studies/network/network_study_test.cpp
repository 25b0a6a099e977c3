// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/network_study.h"

#include <gtest/gtest.h>

#include "network/simgrid/simgrid.h"
#include "scenarios/format/read/reader.h"
#include "tests/scenarios/network_cluster.h"

namespace orrery {
namespace {

using namespace literals;

NetworkAnswer answer_of(const Scenario& scenario, NetworkRequest request) {
    NetworkTrace trace;
    if (request.sizes.empty()) {
        request.sizes = {Bytes(10'000'000)};
    }
    const auto answer = study_network(scenario, request, trace);
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer.value_or(NetworkAnswer{});
}

TEST(NetworkStudy, BusBandwidthsAreNcclTests) {
    const Scenario scenario = leaf_spine_scenario(4);
    const auto factor = [&](const std::string& pattern) {
        const auto row = answer_of(scenario, {.pattern = pattern}).rows.at(0);
        EXPECT_NEAR(row.algbw, 1e-2 / row.time.seconds(), 1e-9) << pattern;
        return row.busbw / row.algbw;
    };
    EXPECT_NEAR(factor("all_reduce"), 2.0 * 7 / 8, 1e-12);
    EXPECT_NEAR(factor("all_gather"), 7.0 / 8, 1e-12);
    EXPECT_NEAR(factor("reduce_scatter"), 7.0 / 8, 1e-12);
    EXPECT_NEAR(factor("all_to_all"), 7.0 / 8, 1e-12);
    EXPECT_NEAR(factor("broadcast"), 1, 1e-12);
    EXPECT_NEAR(factor("send_recv"), 1, 1e-12);
}

TEST(NetworkStudy, EveryPatternRunsAtEveryFidelityAndSharingIsNeverFaster) {
    for (const std::string& pattern : network_patterns()) {
        Scenario scenario = leaf_spine_scenario(4);
        scenario.network = NetworkFidelity::analytic;
        const Time alone = answer_of(scenario, {.pattern = pattern}).rows.at(0).time;
        scenario.network = NetworkFidelity::fluid;
        const Time shared = answer_of(scenario, {.pattern = pattern}).rows.at(0).time;
        EXPECT_GE(shared, alone) << pattern;
        if (has_simgrid()) {
            scenario.network = NetworkFidelity::simgrid;
            const Time judged = answer_of(scenario, {.pattern = pattern}).rows.at(0).time;
            EXPECT_NEAR(judged.seconds(), shared.seconds(), 1e-3 * shared.seconds()) << pattern;
        }
    }
}

// The same connections on the same paths, whatever moves the bytes. An ACK goes back the way that
// its packet came: so the size is one at which data takes all links.
TEST(NetworkStudy, ACollectiveCrossesTheSameLinksInEveryFidelity) {
    auto scenario =
        read_scenario(ORRERY_SOURCE_DIR "/scenarios/network-clos-64.yaml", {.network_only = true});
    ASSERT_TRUE(scenario);
    const auto leaf_spine = [&](NetworkFidelity fidelity) {
        scenario->network = fidelity;
        const auto answer =
            answer_of(*scenario, {.pattern = "all_reduce", .sizes = {Bytes(64 << 20)}});
        return *std::ranges::find(
            answer.classes, std::string{"leaf-spine"}, &LinkClassUse::link_class);
    };
    const LinkClassUse fluid = leaf_spine(NetworkFidelity::fluid);
    const LinkClassUse packets = leaf_spine(NetworkFidelity::packet);
    EXPECT_EQ(packets.used, fluid.used);
    EXPECT_EQ(fluid.used, 128U);
    EXPECT_NEAR(packets.mean, fluid.mean, 0.05 * fluid.mean);
}

TEST(NetworkStudy, AnIncastDrainsAtTheReceiversLine) {
    const auto answer = answer_of(leaf_spine_scenario(4), {.pattern = "incast"});
    EXPECT_EQ(answer.flows.at(0).flows, 7U);
    // 70 MB at 10 GB/s over at most 4 links of 1 us.
    EXPECT_NEAR(answer.flows[0].max.seconds(), 7.004e-3, 1e-9);
    EXPECT_EQ(answer.busiest.at(0).link, "leaf 0 -> node 0 nic 0");
    EXPECT_NEAR(answer.busiest[0].utilisation, 1, 1e-3);
}

TEST(NetworkStudy, RoutingDecidesWhatAPermutationMeets) {
    Scenario scenario = leaf_spine_scenario(32);
    const auto slowdown = [&](RoutingKind routing, std::uint32_t queue_pairs) {
        scenario.cluster.fabric.routing = routing;
        scenario.cluster.fabric.qps_per_connection = queue_pairs;
        return answer_of(scenario, {.pattern = "pairs"}).flows.at(0).slowdown_max;
    };
    const double hashed = slowdown(RoutingKind::ecmp, 1);
    EXPECT_GE(hashed, 2.9);  // of 32 flows on 32 links the fullest has three or more
    EXPECT_LT(slowdown(RoutingKind::ecmp, 8), 0.7 * hashed);
    for (const auto routing :
         {RoutingKind::adaptive, RoutingKind::spray, RoutingKind::static_rail}) {
        EXPECT_NEAR(slowdown(routing, 1), 1, 1e-6);
    }
}

TEST(NetworkStudy, MegascalesSplitPortsMakeACollisionOfTwoHarmless) {
    Scenario scenario = leaf_spine_scenario(32);
    const auto median = [&] {
        return answer_of(scenario, {.pattern = "pairs"}).flows.at(0).slowdown_median;
    };
    const double plain = median();
    scenario.cluster.fabric.uplink_bandwidth = 160_Gbps;  // half as many, twice as fast
    EXPECT_LT(median(), plain);
}

// Servers that talk to each other under one set of ToRs, or each under another one: a ring of ranks
// crosses the spines only at the ends of the sets, or always (MegaScale, NSDI 2024, section 3.6).
TEST(NetworkStudy, PlacementDecidesHowMuchCrossesTheSpines) {
    Scenario scenario = leaf_spine_scenario(8);
    const auto crossing = [&] {
        const auto answer = answer_of(scenario, {.pattern = "ring"});
        for (const LinkClassUse& use : answer.classes) {
            if (use.link_class == "leaf-spine") {
                return use.mean * answer.rows.at(0).time.seconds();
            }
        }
        return 0.0;
    };
    const double packed = crossing();
    for (std::uint32_t node = 0; node < 16; ++node) {
        scenario.cluster.gpu_of_rank.push_back(node / 2 + node % 2 * 8);
    }
    EXPECT_NEAR(crossing() / packed, 8, 1e-6);  // 16 of 16 flows, 2 of 16
}

TEST(NetworkStudy, AFlapIsNotedAndFlowsMove) {
    Scenario scenario = leaf_spine_scenario(4);
    scenario.cluster.fabric.qps_per_connection = 8;
    scenario.network_settings.convergence = 100_us;
    scenario.network_settings.events = {{.link = "leaf 0 -> spine 1", .at = 200_us}};
    const auto answer = answer_of(scenario, {.pattern = "pairs"});
    EXPECT_EQ(answer.flows.at(0).finished, 4U);
    EXPECT_GT(answer.flows[0].moved, 0U);
    EXPECT_EQ(answer.notes.size(), 2U);
    // Without a way out they give up, and are reported.
    scenario.network_settings.events = {{.link = "node 5 nic 0 -> leaf 1", .at = 200_us}};
    scenario.network_settings.timeout = 1_ms;
    const auto stuck = answer_of(scenario, {.pattern = "pairs"});
    EXPECT_EQ(stuck.flows.at(0).finished, 3U);
    EXPECT_FALSE(stuck.rows.at(0).finished);
    const auto collective = answer_of(scenario, {.pattern = "all_reduce"});
    EXPECT_FALSE(collective.rows.at(0).finished);
}

TEST(NetworkStudy, ATraceHasTracksAndCounters) {
    NetworkTrace trace;
    const NetworkRequest request{
        .pattern = "ring", .sizes = {Bytes(1'000'000)}, .ranks = 4, .trace = true};
    const Scenario scenario = leaf_spine_scenario(4);
    ASSERT_TRUE(study_network(scenario, request, trace));
    EXPECT_EQ(trace.tracks.size(), 4U);
    EXPECT_FALSE(trace.counters.empty());
}

TEST(NetworkStudy, SaysWhatCannotBe) {
    NetworkTrace trace;
    Scenario scenario = leaf_spine_scenario(4);
    const auto error = [&](const NetworkRequest& request) {
        const auto answer = study_network(scenario, request, trace);
        return answer ? std::string{} : answer.error().to_string();
    };
    EXPECT_NE(error({.pattern = "gossip", .sizes = {Bytes(1)}}).find("no pattern 'gossip'"),
              std::string::npos);
    EXPECT_NE(error({.sizes = {Bytes(1)}, .ranks = 9}).find("9 ranks of 8"), std::string::npos);
    scenario.network_settings.events = {{.link = "nowhere", .where = "here"}};
    EXPECT_NE(error({.sizes = {Bytes(1)}}).find("no link 'nowhere'"), std::string::npos);
}

TEST(NetworkStudy, MeasuredTimesStandBesideTheModelsInsideAServerOnly) {
    ReadOptions network_only;
    network_only.network_only = true;
    const auto read = read_scenario_text(
        "cluster: {nodes: 2, node: dgx-h100, fabric: ndr400-rail}\n", "s.yaml", "", network_only);
    ASSERT_TRUE(read) << read.error().front().to_string();
    const Scenario& scenario = *read;
    const std::uint32_t per_node = 8;
    NetworkRequest request{.pattern = "all_reduce", .ranks = per_node};
    request.measured = {{.kind = TransferKind::all_reduce,
                         .bytes = Bytes{10'000'000},
                         .ranks = per_node,
                         .median = Time::seconds(3e-4)}};
    EXPECT_EQ(answer_of(scenario, request).rows.at(0).measured, Time::seconds(3e-4));
    request.ranks = 0;
    EXPECT_EQ(answer_of(scenario, request).rows.at(0).measured, Time{});
    request.ranks = per_node;
    request.pattern = "all_gather";
    EXPECT_EQ(answer_of(scenario, request).rows.at(0).measured, Time{});
}

}  // namespace
}  // namespace orrery
