// SPDX-License-Identifier: Apache-2.0
#include "network/packet/topology.h"

#include <gtest/gtest.h>

#include "engine/base/units.h"
#include "network/packet/draw.h"
#include "tests/network/packet/clos_shapes.h"

namespace orrery::packet {
namespace {

using namespace literals;
using namespace orrery::testing;

// Follows next_port() and returns the links crossed; 0 if it does not arrive.
std::uint32_t walk(const Topology& topology,
                   std::uint32_t from,
                   std::uint32_t to,
                   std::uint64_t seed) {
    std::uint32_t port = topology.host_port(from);
    for (std::uint32_t links = 1; links < 8; ++links) {
        const std::uint32_t node = topology.port(port).to;
        if (topology.is_host(node)) {
            return node == to ? links : 0;
        }
        port = topology.next_port(node, to, static_cast<std::uint32_t>(mix64(seed + links)));
        EXPECT_EQ(topology.port(port).from, node) << topology.port_name(port);
    }
    return 0;
}

void expect_shortest_ways(const Topology& topology) {
    const std::uint32_t n = topology.num_hosts();
    for (std::uint32_t i = 0; i < 2000; ++i) {
        const auto from = static_cast<std::uint32_t>(mix64(2 * i + 1) % n);
        const auto to = static_cast<std::uint32_t>(mix64(2 * i + 2) % n);
        if (from != to) {
            ASSERT_EQ(walk(topology, from, to, i), topology.links_between(from, to))
                << from << " to " << to;
        }
    }
}

TEST(Topology, EveryHashLeadsThereOnAShortestWay) {
    expect_shortest_ways(Topology::build(fat_tree(8, 100_Gbps, 1_us)).value());
    expect_shortest_ways(Topology::build(leaf_spine(4, 6, 3, 100_Gbps, 1_us)).value());
    // Parallel cables at both tiers.
    expect_shortest_ways(Topology::build(ClosShape{.hosts_per_leaf = 4,
                                                   .leaves_per_block = 3,
                                                   .num_blocks = 3,
                                                   .tier2_per_block = 2,
                                                   .leaf_cables = 2,
                                                   .cores_per_plane = 2,
                                                   .core_cables = 3,
                                                   .host_rate = 100_Gbps})
                             .value());
}

TEST(Topology, FatTreeHasTheSwitchesOfThePaper) {
    const Topology tree = Topology::build(fat_tree(16, 100_Gbps, 1_us)).value();
    EXPECT_EQ(tree.num_hosts(), 1024U);
    EXPECT_EQ(tree.num_switches(), 128U + 128U + 64U);
    EXPECT_EQ(tree.num_ports(), 3 * 2 * 1024U);  // as many cables at each tier as hosts
    EXPECT_EQ(tree.links_between(0, 7), 2U);
    EXPECT_EQ(tree.links_between(0, 63), 4U);
    EXPECT_EQ(tree.links_between(0, 64), 6U);
    EXPECT_EQ(tree.port_name(tree.leaf_uplink(1, 2)), "leaf 1 -> spine 2");
    EXPECT_EQ(tree.port_name(Topology::reverse(tree.core_uplink(9, 3))), "core 11 -> spine 9");
}

TEST(Topology, RefusesWhatCannotBe) {
    EXPECT_FALSE(Topology::build(ClosShape{.host_rate = Bandwidth{}}));
    EXPECT_FALSE(Topology::build(ClosShape{.hosts_per_leaf = 0, .host_rate = 1_Gbps}));
    EXPECT_FALSE(Topology::build(ClosShape{.leaves_per_block = 2, .host_rate = 1_Gbps}));
    EXPECT_FALSE(
        Topology::build(ClosShape{.num_blocks = 2, .tier2_per_block = 1, .host_rate = 1_Gbps}));
}

ClusterSpec cluster(std::uint32_t nodes, FabricKind kind) {
    ClusterSpec spec;
    spec.num_nodes = nodes;
    spec.node.nvlink_bandwidth = 300_GBps;
    spec.node.pcie_bandwidth = 32_GBps;
    spec.fabric = {.kind = kind,
                   .nics_per_node = 8,
                   .nic_bandwidth = 200_Gbps,
                   .nic_latency = 2_us,
                   .link_latency = 1_us,
                   .tiers = 3,
                   .nodes_per_leaf_set = 4,
                   .uplink_bandwidth = 400_Gbps,
                   .leaf_sets_per_pod = 2};
    return spec;
}

// A path that the fabric's own routing takes is a path here, of the same links and latency.
TEST(Topology, AFabricsPathsArePathsOfItsTopology) {
    for (const FabricKind kind : {FabricKind::clos, FabricKind::rail, FabricKind::single_switch}) {
        const Fabric fabric = build_fabric(cluster(14, kind)).value();
        const Topology topology = Topology::build(fabric).value();
        for (std::uint32_t i = 0; i < 500; ++i) {
            const NicPort from{static_cast<std::uint32_t>(mix64(3 * i) % 14), i % 8};
            const NicPort to{static_cast<std::uint32_t>(mix64(3 * i + 1) % 14),
                             static_cast<std::uint32_t>(mix64(3 * i + 2) % 8)};
            Path path;
            fabric.route_nics(from, to, i, path);
            std::uint32_t node = topology.host_of(from);
            Time latency;
            for (const LinkId link : path.links) {
                const std::uint32_t port = topology.port_of(link);
                ASSERT_NE(port, kNone);
                ASSERT_EQ(topology.port(port).from, node) << fabric.link_name(link);
                node = topology.port(port).to;
                latency += topology.port(port).latency;
            }
            ASSERT_EQ(node, topology.host_of(to));
            ASSERT_EQ(latency, path.latency);
        }
        expect_shortest_ways(topology);
    }
}

TEST(Topology, ASprayingFabricHasItsSwitchesBack) {
    ClusterSpec spec = cluster(16, FabricKind::clos);
    const Topology plain = Topology::build(build_fabric(spec).value()).value();
    spec.fabric.routing = RoutingKind::spray;
    const Fabric merged = build_fabric(spec).value();
    const Topology topology = Topology::build(merged).value();
    EXPECT_EQ(topology.num_ports(), plain.num_ports());
    EXPECT_EQ(topology.port_of(merged.nic_out({1, 2})),
              topology.host_port(topology.host_of({1, 2})));
}

}  // namespace
}  // namespace orrery::packet
