// SPDX-License-Identifier: Apache-2.0
#include "tests/network/fabric_graph.h"

#include <gtest/gtest.h>

#include "tests/network/fabric_samples.h"

namespace orrery {
namespace {

using namespace orrery::literals;

ClusterSpec two_leaves_three_spines() {
    ClusterSpec spec = samples::a100_cluster(6);
    spec.node.gpus_per_node = 2;
    spec.fabric.nics_per_node = 1;
    spec.fabric.tiers = 2;
    spec.fabric.nodes_per_leaf_set = 3;
    return spec;
}

TEST(FabricGraph, CountsHopsAndPathsOfALeafSpineByHand) {
    const auto fabric = build_fabric(two_leaves_three_spines());
    ASSERT_TRUE(fabric);
    const FabricGraph graph(*fabric, GraphScope::switches);
    const std::uint32_t from = fabric->vertex_of_nic({0, 0});
    const std::uint32_t near = fabric->vertex_of_nic({2, 0});
    const std::uint32_t far = fabric->vertex_of_nic({3, 0});
    EXPECT_EQ(graph.hops_to(near)[from], 2U);
    EXPECT_EQ(graph.hops_to(far)[from], 4U);
    EXPECT_EQ(graph.num_shortest_paths(from, near), 1U);
    EXPECT_EQ(graph.num_shortest_paths(from, far), 3U);
    EXPECT_EQ(graph.num_shortest_paths(from, from), 0U);
    const std::uint32_t leaf = far + 3;
    EXPECT_EQ(graph.next_hops(from, graph.hops_to(far)),
              std::vector<LinkId>{fabric->nic_out({0, 0})});
    EXPECT_EQ(graph.next_hops(leaf, graph.hops_to(far)).size(), 3U);
    EXPECT_EQ(graph.num_ports(leaf), 6U);
    EXPECT_EQ(graph.out_capacity(leaf), 200_Gbps * 6);
}

TEST(FabricGraph, ServersForwardOnlyInTheWholeGraph) {
    const auto fabric = build_fabric(two_leaves_three_spines());
    const FabricGraph switches(*fabric, GraphScope::switches);
    const FabricGraph whole(*fabric, GraphScope::whole);
    const std::uint32_t gpu = fabric->vertex_of_gpu(0);
    const std::uint32_t far_gpu = fabric->vertex_of_gpu(11);
    EXPECT_EQ(switches.hops_to(far_gpu)[gpu], FabricGraph::kUnreachable);
    // GPU, PCIe root, NIC, leaf, spine, leaf, NIC, PCIe root, GPU.
    EXPECT_EQ(whole.hops_to(far_gpu)[gpu], 8U);
    EXPECT_EQ(whole.hops_to(fabric->vertex_of_gpu(1))[gpu], 2U);
}

}  // namespace
}  // namespace orrery
