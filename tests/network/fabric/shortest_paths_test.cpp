// SPDX-License-Identifier: Apache-2.0
// Fabrics of listed cables. A Clos fabric whose cables are written down is the same fabric: the
// same number of paths, of the same length; and every path is one of the graph's shortest.
#include "network/fabric/shortest_paths.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/network/fabric_graph.h"
#include "tests/network/fabric_samples.h"

namespace orrery {
namespace {

using namespace literals;

// The fabric's NICs and switches, each cable once, by the names of its ends.
ClusterSpec written_down(const Fabric& fabric) {
    std::vector<NamedCable> cables;
    const auto ends = fabric.link_ends();
    for (std::size_t link = 0; link < ends.size(); ++link) {
        const LinkInfo& info = fabric.links()[link];
        // Up and down lie side by side from the first NIC on, and up comes first.
        const bool in_node = info.link_class < static_cast<std::uint16_t>(LinkClass::nic);
        const std::size_t first = index(fabric.nic_out({0, 0}));
        if (in_node || (link - first) % 2 == 1) {
            continue;
        }
        cables.push_back({fabric.vertex_name(ends[link].from),
                          fabric.vertex_name(ends[link].to),
                          info.capacity,
                          fabric.spec().fabric.link_latency,
                          "f"});
    }
    ClusterSpec spec = fabric.spec();
    spec.fabric.kind = FabricKind::file;
    spec.fabric.cables = *CableList::make(cables, "f", spec.num_nodes, spec.fabric.nics_per_node);
    return spec;
}

TEST(ShortestPaths, AClosFabricWrittenDownHasTheSamePaths) {
    samples::Random random(3);
    for (int i = 0; i < 60; ++i) {
        const FabricKind kind = i % 2 == 0 ? FabricKind::clos : FabricKind::rail;
        const auto fabric = build_fabric(samples::random_cluster(random, kind));
        ASSERT_TRUE(fabric);
        const auto listed = build_fabric(written_down(*fabric));
        ASSERT_TRUE(listed) << listed.error().to_string();
        EXPECT_EQ(listed->links().size(), fabric->links().size());
        for (int pair = 0; pair < 20; ++pair) {
            const NicPort from = random_port(random, fabric->spec());
            const NicPort to = random_port(random, fabric->spec());
            EXPECT_EQ(listed->num_paths(from, to), fabric->num_paths(from, to)) << "case " << i;
            Path a;
            Path b;
            ASSERT_TRUE(fabric->route_nics(from, to, 7, a));
            ASSERT_TRUE(listed->route_nics(from, to, 7, b));
            EXPECT_EQ(a.links.size(), b.links.size());
            EXPECT_EQ(a.latency, b.latency);
        }
    }
}

// Any tangle of switches: a random connected graph with parallel cables.
ClusterSpec tangle(samples::Random& random) {
    ClusterSpec spec = samples::a100_cluster(random.in(2, 6));
    spec.fabric.kind = FabricKind::file;
    spec.fabric.nics_per_node = random.in(1, 2);
    spec.node.gpus_per_node = spec.fabric.nics_per_node;
    const std::uint32_t switches = random.in(1, 9);
    const auto name = [](std::uint32_t s) { return "s" + std::to_string(s); };
    std::vector<NamedCable> cables;
    for (std::uint32_t s = 1; s < switches; ++s) {
        cables.push_back({name(s), name(random.in(0, s - 1)), 100_Gbps, 1_us, "f"});
    }
    for (std::uint32_t extra = random.in(0, 12); extra > 0 && switches > 1; --extra) {
        const std::uint32_t a = random.in(0, switches - 1);
        const std::uint32_t b = (a + random.in(1, switches - 1)) % switches;
        cables.push_back({name(a), name(b), 200_Gbps, 2_us, "f"});
    }
    for (std::uint32_t node = 0; node < spec.num_nodes; ++node) {
        for (std::uint32_t nic = 0; nic < spec.fabric.nics_per_node; ++nic) {
            cables.push_back({"node " + std::to_string(node) + " nic " + std::to_string(nic),
                              name(random.in(0, switches - 1)),
                              200_Gbps,
                              1_us,
                              "f"});
        }
    }
    spec.fabric.cables = *CableList::make(cables, "f", spec.num_nodes, spec.fabric.nics_per_node);
    const RoutingKind kinds[] = {
        RoutingKind::ecmp, RoutingKind::static_rail, RoutingKind::adaptive};
    spec.fabric.routing = kinds[random.in(0, 2)];
    return spec;
}

TEST(ShortestPaths, EveryHopIsOneOfTheGraphsAndDeadLinksAreAvoidedWhereThatCanBe) {
    samples::Random random(11);
    int around = 0;
    int nowhere = 0;
    for (int i = 0; i < 150; ++i) {
        const auto fabric = build_fabric(tangle(random));
        ASSERT_TRUE(fabric) << fabric.error().to_string();
        const FabricGraph graph(*fabric, GraphScope::switches);
        std::vector<std::uint8_t> down(fabric->links().size(), 0);
        const std::size_t first = index(fabric->nic_out({0, 0}));
        for (std::size_t link = first; link < down.size(); ++link) {
            down[link] = random.in(0, 4) == 0 ? 1 : 0;
        }
        for (int pair = 0; pair < 10; ++pair) {
            const NicPort from = random_port(random, fabric->spec());
            const NicPort to = random_port(random, fabric->spec());
            Path path;
            ASSERT_TRUE(fabric->route_nics(from, to, random.next(), path));
            const auto hops = graph.hops_to(fabric->vertex_of_nic(to));
            std::uint32_t at = fabric->vertex_of_nic(from);
            Time latency;
            for (const LinkId link : path.links) {
                const LinkEnds& ends = fabric->link_ends()[index(link)];
                EXPECT_EQ(ends.from, at);
                EXPECT_EQ(hops[ends.to] + 1, hops[at]);
                latency += fabric->link_latency(link);
                at = ends.to;
            }
            EXPECT_EQ(at, fabric->vertex_of_nic(to));
            EXPECT_EQ(latency, path.latency);
            // Around dead links: over links that are up, or there is no way at all.
            Path other;
            const bool found =
                fabric->route_nics(from, to, random.next(), other, 0, {.down = down, .load = {}});
            std::set<std::uint32_t> reached = {fabric->vertex_of_nic(from)};
            for (std::size_t sweep = 0; sweep < down.size(); ++sweep) {
                for (std::size_t link = first; link < down.size(); ++link) {
                    const LinkEnds& ends = fabric->link_ends()[link];
                    const bool forwards =
                        ends.from >=
                            fabric->vertex_of_nic({0, 0}) +
                                fabric->spec().num_nodes * fabric->spec().fabric.nics_per_node ||
                        ends.from == fabric->vertex_of_nic(from);
                    if (down[link] == 0 && forwards && reached.contains(ends.from)) {
                        reached.insert(ends.to);
                    }
                }
            }
            EXPECT_EQ(found, reached.contains(fabric->vertex_of_nic(to)));
            for (const LinkId link : other.links) {
                EXPECT_EQ(down[index(link)], 0);
            }
            around += found && other.links.size() > path.links.size() ? 1 : 0;
            nowhere += found ? 0 : 1;
        }
    }
    EXPECT_GT(around, 5);
    EXPECT_GT(nowhere, 5);
}

TEST(ShortestPaths, HashesSpreadAndLoadsDecide) {
    samples::Random random(5);
    auto spec = samples::a100_cluster(8);
    spec.node.gpus_per_node = 1;
    spec.fabric.nics_per_node = 1;
    spec.fabric.tiers = 2;
    spec.fabric.nodes_per_leaf_set = 4;
    const auto clos = build_fabric(spec);
    ClusterSpec listed = written_down(*clos);
    const auto hashed = build_fabric(listed);
    std::set<std::size_t> first_uplinks;
    for (std::uint64_t label = 0; label < 64; ++label) {
        Path path;
        hashed->route_nics({0, 0}, {5, 0}, label, path);
        first_uplinks.insert(index(path.links.at(1)));
    }
    EXPECT_EQ(first_uplinks.size(), 4U);
    listed.fabric.routing = RoutingKind::adaptive;
    const auto adaptive = build_fabric(listed);
    std::vector<std::uint32_t> load(adaptive->links().size(), 0);
    for (std::uint32_t node = 0; node < 4; ++node) {
        Path path;
        adaptive->route_nics({node, 0}, {node + 4, 0}, 1, path, 0, {.down = {}, .load = load});
        for (const LinkId link : path.links) {
            EXPECT_EQ(load[index(link)]++, 0U);  // no two flows meet
        }
    }
}

TEST(ShortestPaths, WhatAListCannotDoIsAnError) {
    samples::Random random(5);
    ClusterSpec spec = tangle(random);
    spec.fabric.routing = RoutingKind::spray;
    EXPECT_NE(build_fabric(spec).error().what.find("spraying"), std::string::npos);
    spec.fabric.routing = RoutingKind::ecmp;
    spec.num_nodes += 1;
    EXPECT_EQ(build_fabric(spec).error().where, "cluster.fabric.file");
}

}  // namespace
}  // namespace orrery
