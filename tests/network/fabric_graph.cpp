// SPDX-License-Identifier: Apache-2.0
#include "tests/network/fabric_graph.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <numeric>

namespace orrery {

namespace {

// The step between a NIC and its PCIe root is no link: it never limits.
constexpr LinkId kNoLink{0xffffffff};

using BoostGraph = boost::adjacency_list<boost::vecS,
                                         boost::vecS,
                                         boost::bidirectionalS,
                                         boost::no_property,
                                         boost::property<boost::edge_index_t, LinkId>>;

}  // namespace

struct FabricGraph::Graph {
    BoostGraph edges;
    std::vector<LinkInfo> links;

    explicit Graph(std::uint32_t num_vertices) : edges(num_vertices) {}
    LinkId link_of(const BoostGraph::edge_descriptor& edge) const {
        return get(boost::edge_index, edges, edge);
    }
};

FabricGraph::FabricGraph(const Fabric& fabric, GraphScope scope)
    : graph_(std::make_unique<Graph>(fabric.num_vertices())) {
    graph_->links.assign(fabric.links().begin(), fabric.links().end());
    const auto ends = fabric.link_ends();
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const bool in_node = fabric.links()[i].link_class < static_cast<int>(LinkClass::nic);
        if (scope == GraphScope::whole || !in_node) {
            add_edge(ends[i].from, ends[i].to, to_id<LinkId>(i), graph_->edges);
        }
    }
    if (scope == GraphScope::switches) {
        return;
    }
    for (std::uint32_t node = 0; node < fabric.spec().num_nodes; ++node) {
        for (std::uint32_t nic = 0; nic < fabric.spec().fabric.nics_per_node; ++nic) {
            const std::uint32_t port = fabric.vertex_of_nic({.node = node, .nic = nic});
            const std::uint32_t root =
                fabric.vertex_of_root(node, fabric.wiring().socket_of_nic(nic));
            add_edge(root, port, kNoLink, graph_->edges);
            add_edge(port, root, kNoLink, graph_->edges);
        }
    }
}

FabricGraph::~FabricGraph() = default;

std::vector<std::uint32_t> FabricGraph::hops_to(std::uint32_t target) const {
    std::vector<std::uint32_t> hops(num_vertices(graph_->edges), kUnreachable);
    hops[target] = 0;
    const auto recorder = boost::record_distances(hops.data(), boost::on_tree_edge());
    boost::breadth_first_search(boost::make_reverse_graph(graph_->edges),
                                target,
                                boost::visitor(boost::make_bfs_visitor(recorder)));
    return hops;
}

std::vector<LinkId> FabricGraph::next_hops(std::uint32_t vertex,
                                           const std::vector<std::uint32_t>& hops) const {
    std::vector<LinkId> links;
    const auto [first, last] = out_edges(vertex, graph_->edges);
    for (auto edge = first; edge != last; ++edge) {
        const std::uint32_t left = hops[boost::target(*edge, graph_->edges)];
        if (left != kUnreachable && left + 1 == hops[vertex]) {
            links.push_back(graph_->link_of(*edge));
        }
    }
    std::sort(links.begin(), links.end());
    return links;
}

std::uint64_t FabricGraph::num_shortest_paths(std::uint32_t from, std::uint32_t to) const {
    const auto hops = hops_to(to);
    if (hops[from] == kUnreachable || from == to) {
        return 0;
    }
    // Count from the target outwards, in order of distance.
    std::vector<std::uint32_t> order(hops.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return hops[a] < hops[b]; });
    std::vector<std::uint64_t> paths(hops.size(), 0);
    paths[to] = 1;
    for (const std::uint32_t vertex : order) {
        if (hops[vertex] == 0 || hops[vertex] > hops[from]) {
            continue;
        }
        const auto [first, last] = out_edges(vertex, graph_->edges);
        for (auto edge = first; edge != last; ++edge) {
            const std::uint32_t next = static_cast<std::uint32_t>(target(*edge, graph_->edges));
            paths[vertex] += hops[next] + 1 == hops[vertex] ? paths[next] : 0;
        }
    }
    return paths[from];
}

std::uint32_t FabricGraph::num_ports(std::uint32_t vertex) const {
    return static_cast<std::uint32_t>(out_degree(vertex, graph_->edges));
}

Bandwidth FabricGraph::out_capacity(std::uint32_t vertex) const {
    Bandwidth sum;
    const auto [first, last] = out_edges(vertex, graph_->edges);
    for (auto edge = first; edge != last; ++edge) {
        const LinkId link = graph_->link_of(*edge);
        if (link != kNoLink) {
            sum = sum + graph_->links[index(link)].capacity;
        }
    }
    return sum;
}

}  // namespace orrery
