// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/fabric.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/network/fabric_graph.h"
#include "tests/network/fabric_samples.h"

namespace orrery {
namespace {

using namespace orrery::literals;

constexpr RoutingKind kRoutings[] = {
    RoutingKind::ecmp, RoutingKind::spray, RoutingKind::static_rail};

// The step between a NIC and the PCIe root of its socket is no link.
bool joins(const Fabric& fabric, std::uint32_t end, std::uint32_t begin) {
    for (std::uint32_t node = 0; node < fabric.spec().num_nodes; ++node) {
        for (std::uint32_t nic = 0; nic < fabric.spec().fabric.nics_per_node; ++nic) {
            const std::uint32_t port = fabric.vertex_of_nic({node, nic});
            const std::uint32_t root =
                fabric.vertex_of_root(node, fabric.wiring().socket_of_nic(nic));
            if ((end == port && begin == root) || (end == root && begin == port)) {
                return true;
            }
        }
    }
    return end == begin;
}

void expect_walk(const Fabric& fabric, const Path& path, std::uint32_t from, std::uint32_t to) {
    ASSERT_FALSE(path.links.empty());
    Time latency;
    std::uint32_t at = from;
    for (const LinkId link : path.links) {
        const LinkEnds& ends = fabric.link_ends()[index(link)];
        EXPECT_TRUE(joins(fabric, at, ends.from)) << fabric.link_name(link);
        at = ends.to;
        latency += fabric.link_latency(link);
    }
    EXPECT_EQ(at, to);
    EXPECT_EQ(path.latency, latency);
}

TEST(Fabric, EveryRouteIsAWalkFromSenderToReceiver) {
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        SCOPED_TRACE(seed);
        samples::Random random(seed);
        ClusterSpec spec = samples::random_cluster(random, samples::kKinds[seed % 3]);
        spec.fabric.routing = kRoutings[seed / 3 % 3];
        const auto fabric = build_fabric(spec);
        ASSERT_TRUE(fabric) << fabric.error().to_string();
        for (int i = 0; i < 20; ++i) {
            const RankId from{random.in(0, spec.num_gpus() - 1)};
            const RankId to{random.in(0, spec.num_gpus() - 1)};
            Path path;
            fabric->route(from, to, random.next(), path);
            if (from == to) {
                EXPECT_TRUE(path.links.empty());
                continue;
            }
            expect_walk(*fabric, path, fabric->gpu_of(from), fabric->gpu_of(to));
            path.clear();
            fabric->route_pxn(from, to, random.next(), path);
            expect_walk(*fabric, path, fabric->gpu_of(from), fabric->gpu_of(to));
        }
    }
}

TEST(Fabric, EveryVertexReachesEveryOther) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        samples::Random random(seed);
        ClusterSpec spec = samples::random_cluster(random, samples::kKinds[seed % 3]);
        spec.num_nodes = std::max(spec.num_nodes, 2U);
        spec.fabric.routing = kRoutings[seed / 3 % 3];
        const auto fabric = build_fabric(spec);
        ASSERT_TRUE(fabric);
        const FabricGraph graph(*fabric, GraphScope::whole);
        const auto hops = graph.hops_to(random.in(0, fabric->num_vertices() - 1));
        for (std::uint32_t vertex = 0; vertex < fabric->num_vertices(); ++vertex) {
            EXPECT_NE(hops[vertex], FabricGraph::kUnreachable) << fabric->vertex_name(vertex);
        }
    }
}

TEST(Fabric, LinksComeInOpposedPairsOfEqualCapacity) {
    samples::Random random(5);
    for (int i = 0; i < 30; ++i) {
        ClusterSpec spec = samples::random_cluster(random, samples::kKinds[i % 3]);
        const auto fabric = build_fabric(spec);
        std::vector<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>> forward;
        std::vector<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>> backward;
        for (std::size_t link = 0; link < fabric->links().size(); ++link) {
            const LinkEnds ends = fabric->link_ends()[link];
            const std::int64_t bps = fabric->links()[link].capacity.bits_per_second();
            EXPECT_GT(bps, 0);
            forward.emplace_back(ends.from, ends.to, bps);
            backward.emplace_back(ends.to, ends.from, bps);
        }
        std::sort(forward.begin(), forward.end());
        std::sort(backward.begin(), backward.end());
        EXPECT_EQ(forward, backward);
    }
}

TEST(Fabric, NamesSayWhereALinkIs) {
    const auto fabric = build_fabric(samples::megascale(300));
    ASSERT_TRUE(fabric);
    Path path;
    fabric->route(RankId{11}, RankId{299 * 8 + 3}, 1, path);
    ASSERT_EQ(path.links.size(), 8U);
    EXPECT_EQ(fabric->link_name(path.links[0]), "node 1 gpu 3 -> node 1 socket 0");
    EXPECT_EQ(fabric->link_name(path.links[1]), "node 1 nic 3 -> tor 3");
    EXPECT_EQ(fabric->link_name(path.links[2]).substr(0, 20), "tor 3 -> aggregation");
    EXPECT_EQ(fabric->link_name(path.links[6]), "tor 35 -> node 299 nic 3");
    const auto class_name = [&](std::size_t hop) {
        return fabric->link_class_names()[fabric->links()[index(path.links[hop])].link_class];
    };
    EXPECT_EQ(class_name(0), "pcie");
    EXPECT_EQ(class_name(1), "nic");
    EXPECT_EQ(class_name(2), "tor-aggregation");
    EXPECT_EQ(class_name(3), "aggregation-core");
    // Two PCIe links, two ends, six cables.
    EXPECT_EQ(path.latency, 500_ns * 2 + 1_us * 2 + 600_ns * 6);
}

TEST(Fabric, PlacementMovesRanksAndLeavesSparesOut) {
    ClusterSpec spec = samples::a100_cluster(4);
    spec.gpu_of_rank = {31, 0, 9};
    const auto fabric = build_fabric(spec);
    ASSERT_TRUE(fabric);
    EXPECT_EQ(fabric->num_ranks(), 3U);
    EXPECT_EQ(fabric->node_of(RankId{0}), 3U);
    EXPECT_EQ(fabric->nic_of(RankId{2}), (NicPort{1, 1}));
    spec.gpu_of_rank = {1, 2, 1};
    EXPECT_EQ(build_fabric(spec).error().what, "two ranks are placed on GPU 1");
    spec.gpu_of_rank = {32};
    EXPECT_FALSE(build_fabric(spec));
}

TEST(Fabric, EfficiencyLeavesTheUsableShareOfEveryCable) {
    ClusterSpec spec = samples::megascale(300);
    spec.fabric.efficiency = 4096.0 / 4186.0;
    const auto fabric = build_fabric(spec);
    const auto capacity = fabric->links()[index(fabric->nic_out({0, 0}))].capacity;
    EXPECT_EQ(capacity.bits_per_second(), 200'000'000'000 * 4096 / 4186);
    EXPECT_EQ(fabric->links()[index(fabric->pcie_out(RankId{0}))].capacity, 32_GBps);
}

TEST(Fabric, ALoneServerNeedsNoNetwork) {
    ClusterSpec spec = samples::a100_cluster(1);
    spec.fabric = FabricSpec{};
    const auto fabric = build_fabric(spec);
    ASSERT_TRUE(fabric) << fabric.error().to_string();
    Path path;
    fabric->route(RankId{0}, RankId{1}, 1, path);
    EXPECT_EQ(path.links,
              (std::vector{fabric->nvlink_out(RankId{0}), fabric->nvlink_in(RankId{1})}));
    spec.num_nodes = 2;
    EXPECT_FALSE(build_fabric(spec));
}

TEST(Fabric, NodesThatCannotBeAreErrorsThatSayWhy) {
    const auto refused = [](auto change) {
        ClusterSpec spec = samples::a100_cluster(4);
        change(spec);
        const auto fabric = build_fabric(spec);
        return fabric ? std::string("accepted") : fabric.error().what;
    };
    const auto contains = [](const std::string& text, const char* part) {
        return text.find(part) != std::string::npos;
    };
    EXPECT_PRED2(contains, refused([](auto& s) { s.num_nodes = 0; }), "no GPUs");
    EXPECT_PRED2(contains, refused([](auto& s) { s.node.gpus_per_node = 0; }), "no GPUs");
    EXPECT_PRED2(contains, refused([](auto& s) { s.num_nodes = 1U << 30; }), "too many GPUs");
    EXPECT_PRED2(contains, refused([](auto& s) { s.node.num_sockets = 3; }), "num_sockets is 3");
    EXPECT_PRED2(contains, refused([](auto& s) { s.node.nvlink_bandwidth = {}; }), "nvlink");
    EXPECT_PRED2(contains, refused([](auto& s) { s.node.pcie_bandwidth = {}; }), "pcie");
    EXPECT_PRED2(contains, refused([](auto& s) { s.node.pcie_efficiency = 0; }), "efficiency");
    EXPECT_PRED2(contains, refused([](auto& s) { s.num_nodes = 1'900'000; }), "million cables");
    EXPECT_EQ(refused([](auto&) {}), "accepted");
}

}  // namespace
}  // namespace orrery
