// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "network/fabric/fabric.h"
#include "tests/network/fabric_graph.h"
#include "tests/network/fabric_samples.h"

namespace orrery {
namespace {

using namespace orrery::literals;

// Published test vectors of MurmurHash3_x86_32 (whole words, little endian).
TEST(Murmur3, MatchesPublishedVectors) {
    using Words = std::vector<std::uint32_t>;
    EXPECT_EQ(murmur3_32({}, 0), 0U);
    EXPECT_EQ(murmur3_32({}, 1), 0x514E28B7U);
    EXPECT_EQ(murmur3_32({}, 0xffffffff), 0x81F16F39U);
    EXPECT_EQ(murmur3_32(Words{0xffffffff}, 0), 0x76293B50U);
    EXPECT_EQ(murmur3_32(Words{0x87654321}, 0), 0xF55B516BU);
    EXPECT_EQ(murmur3_32(Words{0x87654321}, 0x5082EDEE), 0x2362F9DEU);
    EXPECT_EQ(murmur3_32(Words{0}, 0), 0x2362F9DEU);
}

TEST(FiveTuple, IsRoceWithAnEphemeralPortPerQueuePair) {
    std::set<std::uint16_t> ports;
    for (std::uint32_t queue_pair = 0; queue_pair < 64; ++queue_pair) {
        const FiveTuple flow = five_tuple(1, 2, 77, queue_pair);
        EXPECT_GE(flow.source_port, 49152);
        EXPECT_EQ(flow.destination_port, 4791);
        EXPECT_EQ(flow.protocol, 17);
        ports.insert(flow.source_port);
    }
    EXPECT_GE(ports.size(), 62U);
    EXPECT_EQ(five_tuple(1, 2, 77, 3), five_tuple(1, 2, 77, 3));
}

struct EcmpRow {
    std::uint32_t flows;
    std::uint32_t links;
    double expected_max;
    int trials = 4000;
};

// Balls into bins: shared/reference network notes, section 6.2 (Monte-Carlo of a perfect hash).
constexpr EcmpRow kEcmpRows[] = {
    {8, 8, 2.60},
    {16, 16, 3.07},
    {32, 32, 3.54},
    {64, 64, 3.95},
    {32, 8, 7.04},
    {64, 32, 5.40},
    {128, 64, 5.96},
    {64, 16, 7.88},
    {128, 32, 8.64},
    {256, 32, 14.38},
    {512, 32, 24.85},
    {1024, 32, 44.31},
    {1024, 64, 26.08},
    {8192, 64, 155.49, 1000},
};

TEST(Ecmp, HashFillsEqualLinksAsRandomChoiceDoes) {
    samples::Random random(6);
    for (const EcmpRow& row : kEcmpRows) {
        double max_sum = 0;
        double used_sum = 0;
        std::vector<std::uint32_t> load(row.links);
        for (int trial = 0; trial < row.trials; ++trial) {
            std::fill(load.begin(), load.end(), 0U);
            const std::uint32_t seed = switch_seed(1, static_cast<std::uint32_t>(trial));
            for (std::uint32_t i = 0; i < row.flows; ++i) {
                const FiveTuple flow = five_tuple(i, 100'000 + i, random.next(), 0);
                ++load[ecmp_choice(flow, seed, row.links)];
            }
            max_sum += *std::max_element(load.begin(), load.end());
            used_sum += static_cast<double>(
                std::count_if(load.begin(), load.end(), [](std::uint32_t l) { return l > 0; }));
        }
        const double used = 1 - std::pow(1 - 1.0 / row.links, row.flows);
        EXPECT_NEAR(max_sum / row.trials / row.expected_max, 1, 0.02)
            << row.flows << " flows on " << row.links;
        EXPECT_NEAR(used_sum / row.trials / row.links / used, 1, 0.01)
            << row.flows << " flows on " << row.links;
    }
}

// The same law through whole routes: 32 NICs of a leaf, each with one flow to another leaf.
TEST(Ecmp, ThirtyTwoFlowsOnThirtyTwoUplinksLoadTheFullestWith3Point54) {
    ClusterSpec spec = samples::a100_cluster(64);
    spec.fabric.tiers = 2;
    const auto fabric = build_fabric(spec);
    ASSERT_TRUE(fabric);
    ASSERT_EQ(fabric->num_paths({0, 0}, {32, 0}), 32U);
    samples::Random random(7);
    Path path;
    double up_sum = 0;
    double down_sum = 0;
    constexpr int kTrials = 4000;
    for (int trial = 0; trial < kTrials; ++trial) {
        std::map<LinkId, int> up;
        std::map<LinkId, int> down;
        for (std::uint32_t node = 0; node < 32; ++node) {
            path.clear();
            fabric->route_nics({node, 3}, {32 + node, 3}, random.next(), path);
            ++up[path.links[1]];
            ++down[path.links[2]];
        }
        const auto fullest = [](const std::map<LinkId, int>& load) {
            int most = 0;
            for (const auto& [link, flows] : load) {
                most = std::max(most, flows);
            }
            return most;
        };
        up_sum += fullest(up);
        down_sum += fullest(down);
    }
    EXPECT_NEAR(up_sum / kTrials / 3.54, 1, 0.02);
    EXPECT_EQ(up_sum, down_sum) << "one cable from each spine: the way down has no choice";
}

// Flows that met on one aggregation switch spread over its uplinks as random ones do: the hash is
// not polarised.
TEST(Ecmp, CollisionsAtOneTierSayNothingAboutTheNext) {
    const auto fabric = build_fabric(samples::a100_cluster(512));
    ASSERT_TRUE(fabric);
    ASSERT_EQ(fabric->tree().tier2_uplinks(), 64U);
    std::map<LinkId, std::set<LinkId>> cores;
    std::map<LinkId, double> flows;
    Path path;
    for (std::uint32_t flow = 0; flow < 32 * 64; ++flow) {
        path.clear();
        fabric->route_nics({flow % 32, 0}, {511 - flow / 32, 0}, flow, path);
        ASSERT_EQ(path.links.size(), 6U);
        cores[path.links[1]].insert(path.links[2]);
        flows[path.links[1]] += 1;
    }
    EXPECT_EQ(cores.size(), 32U);
    double used = 0;
    double expected = 0;
    for (const auto& [uplink, distinct] : cores) {
        used += static_cast<double>(distinct.size());
        expected += 64 * (1 - std::pow(1 - 1.0 / 64, flows[uplink]));
    }
    EXPECT_NEAR(used / expected, 1, 0.03);
}

// The same hash at every tier: flows that an aggregation switch has got agree on what made them
// come there, and take few of its uplinks.
TEST(Ecmp, OneSeedForAllSwitchesPolarisesTheHash) {
    ClusterSpec spec = samples::a100_cluster(512);
    const auto used_cores = [&](HashSeeds seeds) {
        spec.fabric.hash_seeds = seeds;
        const auto fabric = build_fabric(spec);
        std::set<LinkId> used;
        Path path;
        for (std::uint32_t flow = 0; flow < 32 * 64; ++flow) {
            path.clear();
            fabric->route_nics({flow % 32, 0}, {511 - flow / 32, 0}, flow, path);
            used.insert(path.links.at(2));
        }
        return used.size();
    };
    EXPECT_LT(used_cores(HashSeeds::one) * 8, used_cores(HashSeeds::per_switch));
}

TEST(Ecmp, WhatIsDownIsAvoidedAtEveryTierAsLongAsThereIsAWay) {
    const ClusterSpec spec = samples::a100_cluster(512);
    const auto fabric = build_fabric(spec);
    ASSERT_TRUE(fabric);
    std::vector<std::uint8_t> down(fabric->links().size(), 0);
    Path path;
    // Whatever is cut, one link of the present path after the other, another path is found.
    for (int cut = 0; cut < 60; ++cut) {
        path.clear();
        ASSERT_TRUE(fabric->route_nics({0, 0}, {511, 0}, 7, path, 0, {.down = down}));
        ASSERT_EQ(path.links.size(), 6U);
        for (const LinkId link : path.links) {
            ASSERT_EQ(down[index(link)], 0);
        }
        down[index(path.links[1 + static_cast<std::size_t>(cut) % 4])] = 1;
    }
    // All uplinks of the first leaf but one, then that one too.
    path.clear();
    ASSERT_TRUE(fabric->route_nics({0, 0}, {511, 0}, 7, path, 0, {.down = down}));
    const LinkId nic = path.links[0];
    down[index(nic)] = 1;
    Path none;
    EXPECT_FALSE(fabric->route_nics({0, 0}, {511, 0}, 7, none, 0, {.down = down}));
    EXPECT_TRUE(none.links.empty());
}

TEST(Adaptive, TakesTheLeastLoadedUplink) {
    ClusterSpec spec = samples::a100_cluster(64);
    spec.fabric.routing = RoutingKind::adaptive;
    const auto fabric = build_fabric(spec);
    ASSERT_TRUE(fabric);
    std::vector<std::uint32_t> load(fabric->links().size(), 0);
    std::map<LinkId, std::uint32_t> flows;
    const std::uint32_t uplinks = fabric->tree().leaf_uplinks();
    for (std::uint32_t flow = 0; flow < 3 * uplinks; ++flow) {
        Path path;
        ASSERT_TRUE(
            fabric->route_nics({flow % 32, 0}, {32 + flow % 32, 0}, flow, path, 0, {.load = load}));
        for (const LinkId link : path.links) {
            ++load[index(link)];
        }
        ++flows[path.links.at(1)];
    }
    EXPECT_EQ(flows.size(), uplinks);
    for (const auto& [uplink, count] : flows) {
        EXPECT_EQ(count, 3U);
    }
}

TEST(Ecmp, HashSeedMovesFlowsAndOneSeedRepeatsThem) {
    ClusterSpec spec = samples::a100_cluster(512);
    const auto route = [&](std::uint64_t seed) {
        spec.fabric.hash_seed = seed;
        const auto fabric = build_fabric(spec);
        Path path;
        for (std::uint32_t node = 0; node < 100; ++node) {
            fabric->route_nics({node, 0}, {511 - node, 0}, node, path);
        }
        return path;
    };
    EXPECT_EQ(route(1), route(1));
    EXPECT_NE(route(1), route(2));
}

// The path of every queue pair of a connection that may differ from the others'.
std::vector<Path> connection_paths(const Fabric& fabric,
                                   NicPort from,
                                   NicPort to,
                                   std::uint64_t flow_label) {
    std::vector<Path> paths(fabric.queue_pairs_apart());
    for (std::uint32_t queue_pair = 0; queue_pair < paths.size(); ++queue_pair) {
        fabric.route_nics(from, to, flow_label, paths[queue_pair], queue_pair);
    }
    return paths;
}

TEST(Ecmp, AConnectionHasOnePathPerQueuePair) {
    ClusterSpec spec = samples::a100_cluster(512);
    spec.fabric.qps_per_connection = 16;
    const auto fabric = build_fabric(spec);
    const auto paths = connection_paths(*fabric, {0, 0}, {511, 0}, 42);
    ASSERT_EQ(paths.size(), 16U);
    std::set<std::vector<LinkId>> distinct;
    for (const Path& path : paths) {
        distinct.insert(path.links);
    }
    EXPECT_GE(distinct.size(), 14U) << "of 2048 paths";
}

// Arithmetic against breadth-first search: every path is a shortest one, and together the flows'
// choices are exactly the next hops on shortest paths.
TEST(Ecmp, ChoosesAmongExactlyTheShortestPathsOfTheGraph) {
    int full_coverage = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        SCOPED_TRACE(seed);
        samples::Random random(seed);
        const ClusterSpec spec = samples::random_cluster(random, samples::kKinds[seed % 3]);
        const auto fabric = build_fabric(spec);
        ASSERT_TRUE(fabric) << fabric.error().to_string();
        const FabricGraph graph(*fabric, GraphScope::switches);
        for (int pair = 0; pair < 4; ++pair) {
            const NicPort from = random_port(random, spec);
            const NicPort to = random_port(random, spec);
            const std::uint32_t start = fabric->vertex_of_nic(from);
            const auto hops = graph.hops_to(fabric->vertex_of_nic(to));
            const std::uint64_t num_paths = fabric->num_paths(from, to);
            ASSERT_EQ(num_paths, graph.num_shortest_paths(start, fabric->vertex_of_nic(to)));
            std::map<std::uint32_t, std::set<LinkId>> taken;
            const bool all = num_paths <= 64;
            full_coverage += all && num_paths > 1;
            for (std::uint64_t label = 0; label < (all ? 25 * num_paths : 100); ++label) {
                Path path;
                fabric->route_nics(from, to, random.next(), path);
                ASSERT_EQ(path.links.size(), hops[start]);
                std::uint32_t at = start;
                for (const LinkId link : path.links) {
                    ASSERT_EQ(fabric->link_ends()[index(link)].from, at);
                    taken[at].insert(link);
                    at = fabric->link_ends()[index(link)].to;
                }
                ASSERT_EQ(at, fabric->vertex_of_nic(to));
            }
            for (const auto& [vertex, links] : taken) {
                const auto next = graph.next_hops(vertex, hops);
                if (all) {
                    EXPECT_TRUE(std::equal(links.begin(), links.end(), next.begin(), next.end()));
                } else {
                    EXPECT_TRUE(
                        std::includes(next.begin(), next.end(), links.begin(), links.end()));
                }
            }
        }
    }
    EXPECT_GT(full_coverage, 50) << "the samples must have fabrics with a choice";
}

// D-mod-k (Zahavi 2010): without oversubscription no shift of all nodes loads a link twice.
TEST(StaticRail, ShiftsNeverCollide) {
    for (const FabricKind kind : {FabricKind::clos, FabricKind::rail}) {
        for (const std::uint32_t cables : {1U, 2U}) {
            ClusterSpec spec = samples::a100_cluster(4 * 3 * 4);
            spec.fabric.kind = kind;
            spec.fabric.nodes_per_leaf_set = 4;
            spec.fabric.leaf_sets_per_pod = 4;
            spec.fabric.uplink_cables = cables;
            spec.fabric.core_cables = cables;
            spec.fabric.routing = RoutingKind::static_rail;
            const auto fabric = build_fabric(spec);
            ASSERT_TRUE(fabric) << fabric.error().to_string();
            for (std::uint32_t shift = 1; shift < spec.num_nodes; ++shift) {
                std::vector<int> load(fabric->links().size());
                Path path;
                for (std::uint32_t node = 0; node < spec.num_nodes; ++node) {
                    for (std::uint32_t nic = 0; nic < 8; ++nic) {
                        fabric->route_nics(
                            {node, nic}, {(node + shift) % spec.num_nodes, nic}, 0, path);
                    }
                }
                for (const LinkId link : path.links) {
                    ASSERT_LE(++load[index(link)], 1)
                        << "shift " << shift << ": " << fabric->link_name(link);
                }
            }
        }
    }
}

TEST(StaticRail, PathsAreShortestAndIgnoreTheLabel) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        samples::Random random(seed);
        ClusterSpec spec = samples::random_cluster(random, samples::kKinds[seed % 3]);
        spec.fabric.routing = RoutingKind::static_rail;
        spec.fabric.qps_per_connection = 4;
        const auto fabric = build_fabric(spec);
        const FabricGraph graph(*fabric, GraphScope::switches);
        const NicPort from = random_port(random, spec);
        const NicPort to = random_port(random, spec);
        Path path;
        Path again;
        fabric->route_nics(from, to, 1, path);
        fabric->route_nics(from, to, 2, again, 3);
        EXPECT_EQ(path, again);
        EXPECT_EQ(connection_paths(*fabric, from, to, 1), std::vector<Path>{path});
        const auto hops = graph.hops_to(fabric->vertex_of_nic(to));
        EXPECT_EQ(path.links.size(), hops[fabric->vertex_of_nic(from)]);
        std::uint32_t at = fabric->vertex_of_nic(from);
        for (const LinkId link : path.links) {
            EXPECT_EQ(fabric->link_ends()[index(link)].from, at);
            at = fabric->link_ends()[index(link)].to;
        }
    }
}

// What a merged link stands for: the bundle's links of the same fabric with ECMP.
TEST(Spray, MergedLinksHaveTheCapacityOfTheirBundles) {
    for (std::uint64_t seed = 0; seed < 90; ++seed) {
        SCOPED_TRACE(seed);
        samples::Random random(seed);
        ClusterSpec spec = samples::random_cluster(random, samples::kKinds[seed % 3]);
        const auto hashed = build_fabric(spec);
        spec.fabric.routing = RoutingKind::spray;
        const auto sprayed = build_fabric(spec);
        std::map<std::uint16_t, Bandwidth> bundles;
        std::map<std::uint16_t, Bandwidth> merged;
        for (const LinkInfo& link : hashed->links()) {
            bundles[link.link_class] = bundles[link.link_class] + link.capacity;
        }
        for (const LinkInfo& link : sprayed->links()) {
            merged[link.link_class] = merged[link.link_class] + link.capacity;
        }
        EXPECT_EQ(merged, bundles);
        const NicPort from = random_port(random, spec);
        const NicPort to = random_port(random, spec);
        Path one;
        Path other;
        Path physical;
        sprayed->route_nics(from, to, 1, one);
        sprayed->route_nics(from, to, 2, other, 5);
        hashed->route_nics(from, to, 1, physical);
        EXPECT_EQ(one, other);
        EXPECT_EQ(one.links.size(), physical.links.size());
        EXPECT_EQ(one.latency, physical.latency);
        EXPECT_EQ(sprayed->num_paths(from, to), hashed->num_paths(from, to));
        const FabricGraph graph(*sprayed, GraphScope::switches);
        const std::uint32_t start = sprayed->vertex_of_nic(from);
        EXPECT_EQ(graph.num_shortest_paths(start, sprayed->vertex_of_nic(to)),
                  from == to ? 0U : 1U);
        EXPECT_EQ(graph.hops_to(sprayed->vertex_of_nic(to))[start], one.links.size());
    }
}

}  // namespace
}  // namespace orrery
