// SPDX-License-Identifier: Apache-2.0
// The fabric as a Boost graph, searched breadth first: what is reachable, and which next hops lie
// on a shortest path. Slow and free of coordinate arithmetic: the ground truth that Fabric's paths
// are tested against.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/ids.h"
#include "network/fabric/fabric.h"

namespace orrery {

enum class GraphScope : std::uint8_t {
    whole,     // servers too; a NIC hangs on the PCIe root of its socket
    switches,  // NICs and switches only: servers don't forward
};

class FabricGraph {
public:
    static constexpr std::uint32_t kUnreachable = 0xffffffff;

    FabricGraph(const Fabric& fabric, GraphScope scope);
    ~FabricGraph();

    // By vertex: hops from it to `target` along the links' directions.
    std::vector<std::uint32_t> hops_to(std::uint32_t target) const;
    // Links out of `vertex` that start a shortest path to the target of `hops`, ascending.
    std::vector<LinkId> next_hops(std::uint32_t vertex,
                                  const std::vector<std::uint32_t>& hops) const;
    // Different shortest paths; parallel links count.
    std::uint64_t num_shortest_paths(std::uint32_t from, std::uint32_t to) const;
    // Links that leave a vertex, and their capacities together.
    std::uint32_t num_ports(std::uint32_t vertex) const;
    Bandwidth out_capacity(std::uint32_t vertex) const;

private:
    struct Graph;
    std::unique_ptr<Graph> graph_;
};

}  // namespace orrery
