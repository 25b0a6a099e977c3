// SPDX-License-Identifier: Apache-2.0
#include "network/nccl/nccl_graph.h"

#include <gtest/gtest.h>

#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace {

using namespace literals;
using A = NcclAlgorithm;

NcclGroupShape shape(std::uint32_t nodes, std::uint32_t gpus) {
    return {.num_nodes = nodes,
            .num_ranks = nodes * gpus,
            .gpus_per_node = gpus,
            .nics_per_node = gpus};
}

void expect_graph(const NcclGraph& g, std::uint32_t channels, double intra, double inter) {
    EXPECT_EQ(g.channels, channels);
    EXPECT_DOUBLE_EQ(g.bw_intra, intra);
    EXPECT_DOUBLE_EQ(g.bw_inter, inter);
}

TEST(NcclGraph, OneDgxH100HasTwelveRingsOf30) {
    const auto c = search_nccl_graphs(dgx_h100(), with_nics(400_Gbps), 90, shape(1, 8));
    expect_graph(c.graph(A::ring), 12, 30, 30);
    expect_graph(c.graph(A::tree), 12, 30, 30);
    EXPECT_EQ(c.channels, 24u);
    EXPECT_EQ(c.nvls_channels, 16u);
    EXPECT_DOUBLE_EQ(c.graph(A::nvls).channels * c.graph(A::nvls).bw_inter, 360.0);
    EXPECT_EQ(c.graph(A::nvls_tree).channels, 0u);
    EXPECT_EQ(c.graph(A::pat).channels, 0u);
}

TEST(NcclGraph, SeveralDgxH100HaveEightRingsOf45) {
    const auto c = search_nccl_graphs(dgx_h100(), with_nics(400_Gbps), 90, shape(16, 8));
    expect_graph(c.graph(A::ring), 8, 45, 45);
    expect_graph(c.graph(A::tree), 8, 45, 45);
    expect_graph(c.graph(A::nvls_tree), 8, 45, 45);
    EXPECT_EQ(c.channels, 16u);
    EXPECT_EQ(c.graph(A::ring).type_inter, NcclPath::pxn);
    EXPECT_EQ(c.graph(A::nvls).channels, 0u);
}

TEST(NcclGraph, OneGpuPerNodeHasTwoRingsOf24) {
    const auto c = search_nccl_graphs(dgx_h100(), with_nics(400_Gbps), 90, shape(8, 1));
    expect_graph(c.graph(A::ring), 2, 24, 24);
    expect_graph(c.graph(A::tree), 2, 24, 24);
    expect_graph(c.graph(A::pat), 2, 24, 24);
    EXPECT_EQ(c.channels, 4u);
    EXPECT_FALSE(c.nvswitch);
}

// Two GPUs of a server in a group, as of data parallelism beside tensor parallelism of four. Two
// rings of 48 GB/s fit into NICs of 50 GB/s, four of 30 into NICs of 60, and both are doubled: a
// fifth more bandwidth takes twice the SMs.
TEST(NcclGraph, AFasterNicMayTakeTwiceTheChannels) {
    const auto now = search_nccl_graphs(dgx_h100(), with_nics(400_Gbps), 90, shape(8, 2));
    expect_graph(now.graph(A::ring), 4, 24, 24);
    EXPECT_EQ(now.channels, 8u);
    const auto faster = search_nccl_graphs(dgx_h100(), with_nics(480_Gbps), 90, shape(8, 2));
    expect_graph(faster.graph(A::ring), 8, 15, 15);
    EXPECT_EQ(faster.channels, 16u);
}

TEST(NcclGraph, OneDgxA100Has24Channels) {
    const auto c = search_nccl_graphs(dgx_a100(), with_nics(200_Gbps), 80, shape(1, 8));
    expect_graph(c.graph(A::ring), 12, 20, 20);  // 12 links of 20 GB/s
    EXPECT_EQ(c.channels, 24u);
    EXPECT_EQ(c.nvls_channels, 0u);
    EXPECT_EQ(c.cpu, NcclCpu::amd);
}

TEST(NcclGraph, SeveralDgxA100TakeTheSpeedJustUnderTheirNics) {
    const auto c = search_nccl_graphs(dgx_a100(), with_nics(200_Gbps), 80, shape(4, 8));
    EXPECT_EQ(c.graph(A::ring).channels, 8u);
    EXPECT_DOUBLE_EQ(c.graph(A::ring).bw_inter, 24.0);
    EXPECT_EQ(c.channels, 16u);
    // The tree's links inside the node have room for more: 8 channels of 30 are 240 GB/s.
    EXPECT_DOUBLE_EQ(c.graph(A::tree).bw_intra, 30.0);
    EXPECT_DOUBLE_EQ(c.graph(A::tree).bw_inter, 24.0);
    EXPECT_EQ(c.graph(A::ring).type_inter, NcclPath::pxb);
}

// NCCL logs "sameChannels 0" where each channel enters by a NIC of its own (NVIDIA/nccl issues 601
// and 1189). A broadcast then passes the ranks one after the other in NCCL's estimate.
TEST(NcclGraph, ChannelsOfSeveralNicsDiffer) {
    const auto of = [](NcclGroupShape group) {
        return search_nccl_graphs(dgx_a100(), with_nics(200_Gbps), 80, group);
    };
    EXPECT_TRUE(of(shape(1, 8)).graph(A::ring).same_channels);
    EXPECT_TRUE(of(shape(4, 1)).graph(A::ring).same_channels);
    EXPECT_FALSE(of(shape(4, 8)).graph(A::ring).same_channels);
    NcclGroupShape one_nic = shape(4, 8);
    one_nic.nics_per_node = 1;
    EXPECT_TRUE(of(one_nic).graph(A::ring).same_channels);
    const auto latency = [&](std::uint32_t nodes) {
        return NcclTuning(of(shape(nodes, 8)))
            .latency_us(NcclFunction::broadcast, A::ring, NcclProtocol::ll128);
    };
    // 4 us a rank: hwLat of the network, ring, LL128 (src/graph/tuning.cc).
    EXPECT_NEAR(latency(128) - latency(64), 64 * 8 * 4.0, 1e-6);
}

TEST(NcclGraph, B200RingsCarry720) {
    const auto c = search_nccl_graphs(dgx_b200(), with_nics(400_Gbps), 100, shape(1, 8));
    expect_graph(c.graph(A::ring), 16, 45, 45);
    EXPECT_EQ(c.channels, 32u);
    EXPECT_EQ(c.nvls_channels, 24u);
    const auto four = search_nccl_graphs(dgx_b200(), with_nics(400_Gbps), 100, shape(4, 8));
    EXPECT_DOUBLE_EQ(four.graph(A::ring).channels * four.graph(A::ring).bw_inter, 384.0);
    EXPECT_EQ(four.nvls_channels, 32u);
}

TEST(NcclGraph, TwoGpusHaveNoMulticast) {
    const auto c = search_nccl_graphs(dgx_h100(), with_nics(400_Gbps), 90, shape(1, 2));
    EXPECT_EQ(c.graph(A::nvls).channels, 0u);
    expect_graph(c.graph(A::ring), 12, 30, 30);
}

TEST(NcclGraph, MeshOfV100UsesEdgeDisjointRings) {
    const NodeSpec node = v100_mesh();  // 6 links
    const auto c = search_nccl_graphs(node, with_nics(100_Gbps), 70, shape(1, 8));
    // 120 GB/s over 7 peers: 17.1 a pair, and each pair is on some ring of each direction.
    expect_graph(c.graph(A::ring), 7, 15, 15);
    EXPECT_EQ(num_mesh_rings(2), 1u);
    EXPECT_EQ(num_mesh_rings(7), 6u);
    EXPECT_EQ(num_mesh_rings(8), 7u);
    EXPECT_EQ(num_mesh_rings(10), 8u);
}

// RCCL's listed rings have the whole rate of a GPU's seven links of 64 GB/s, of which it counts 48.
TEST(NcclGraph, RingsOfAnAmdMeshReachTheRateOfItsLinks) {
    NodeSpec node = v100_mesh();
    node.nvlink_bandwidth = Bandwidth::bytes_per_second(448'000'000'000);
    const auto c = search_nccl_graphs(node, with_nics(400_Gbps), 0, shape(1, 8));
    const NcclGraph& ring = c.graph(A::ring);
    EXPECT_EQ(ring.channels % 7, 0U);
    EXPECT_DOUBLE_EQ(ring.channels * ring.bw_intra, 336.0);
}

TEST(NcclGraph, PcieHasOneSlowRing) {
    const NodeSpec node = pcie_server();
    const auto c = search_nccl_graphs(node, with_nics(100_Gbps), 80, shape(1, 8));
    expect_graph(c.graph(A::ring), 1, 20, 20);  // 24 GB/s, 5/6 of it through an Intel host
    EXPECT_EQ(c.graph(A::ring).type_intra, NcclPath::phb);
    // No LL128 over such paths.
    EXPECT_EQ(NcclTuning(c).bandwidth(NcclFunction::all_reduce, A::ring, NcclProtocol::ll128), 0.0);
}

TEST(NcclGraph, SlowNetworksStillHaveAChannel) {
    const auto c = search_nccl_graphs(
        dgx_h100(), with_nics(Bandwidth::bits_per_second(100'000'000)), 90, shape(2, 1));
    expect_graph(c.graph(A::ring), 1, 0.0125, 0.0125);
    EXPECT_GT(NcclTuning(c).choose(NcclFunction::all_reduce, 1 << 20, Dtype::fp32).time_us, 0.0);
}

TEST(NcclGraph, NeverPromisesMoreThanTheLinksHave) {
    for (const std::uint32_t cc : {70u, 80u, 90u, 100u}) {
        for (std::uint32_t gpus = 1; gpus <= 8; ++gpus) {
            for (const std::uint32_t nodes : {1u, 2u, 5u}) {
                if (nodes * gpus < 2) {
                    continue;
                }
                const auto node = dgx_h100();
                const auto c =
                    search_nccl_graphs(node, with_nics(200_Gbps), cc, shape(nodes, gpus));
                const auto& ring = c.graph(A::ring);
                const double bus = ring.channels * ring.bw_inter;
                EXPECT_GT(bus, 0.0);
                EXPECT_LE(c.channels, 64u);
                if (gpus > 1) {
                    EXPECT_LE(bus, nccl_intra_bandwidth(node, cc) + 1e-9);
                }
                if (nodes > 1) {
                    EXPECT_LE(bus, 25.0 * gpus + 1e-9);
                }
            }
        }
    }
}

// NCCL adds a plugin's latency to each message between nodes, and again for Simple, which flushes.
TEST(NcclGraph, AReportedLatencyIsAddedToMessagesBetweenNodes) {
    FabricSpec network = with_nics(400_Gbps);
    const NcclTuning without(search_nccl_graphs(dgx_h100(), network, 90, shape(8, 8)));
    network.reported_latency = 75_us;
    const NcclTuning with(search_nccl_graphs(dgx_h100(), network, 90, shape(8, 8)));
    const auto added = [&](NcclProtocol protocol) {
        return with.latency_us(NcclFunction::all_gather, A::ring, protocol) -
               without.latency_us(NcclFunction::all_gather, A::ring, protocol);
    };
    EXPECT_NEAR(added(NcclProtocol::ll128), 7 * 75, 1e-6);
    EXPECT_NEAR(added(NcclProtocol::simple), 7 * 150, 1e-6);
    const auto inside = search_nccl_graphs(dgx_h100(), network, 90, shape(1, 8));
    EXPECT_EQ(inside.graph(A::ring).latency_inter, 0);
}

TEST(NcclGraph, APluginsSizesReachTheCommunicator) {
    FabricSpec network = with_nics(400_Gbps);
    network.eager_size = Bytes(8192);
    network.nvls_tree_chunk = Bytes(524288);
    const auto c = search_nccl_graphs(dgx_h100(), network, 90, shape(8, 8));
    EXPECT_EQ(c.eager_bytes, 8192);
    EXPECT_EQ(c.nvls_tree_chunk, 524288);
}

}  // namespace
}  // namespace orrery
