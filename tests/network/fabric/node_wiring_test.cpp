// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/node_wiring.h"

#include <gtest/gtest.h>

#include "network/fabric/link_class.h"
#include "tests/network/fabric_samples.h"

namespace orrery {
namespace {

using namespace orrery::literals;

std::uint16_t class_id(LinkClass link_class) {
    return static_cast<std::uint16_t>(link_class);
}

std::vector<std::size_t> offsets(const Path& path, std::uint32_t base) {
    std::vector<std::size_t> result;
    for (const LinkId link : path.links) {
        result.push_back(index(link) - base);
    }
    return result;
}

TEST(NodeWiring, NvswitchPathTakesOnePortOfEachGpu) {
    const NodeWiring wiring(samples::a100_cluster(1).node, 8);
    Path path;
    wiring.gpu_to_gpu(1000, 2, 7, path);
    EXPECT_EQ(offsets(path, 1000), (std::vector<std::size_t>{4, 15}));
    EXPECT_EQ(path.latency, 600_ns);
}

TEST(NodeWiring, EveryGpuHasItsNvlinkAndPcieBandwidthBothWays) {
    NodeSpec node = samples::a100_cluster(1).node;
    for (const auto kind : {IntraNodeKind::nvswitch, IntraNodeKind::nvlink_mesh}) {
        node.intra_node = kind;
        node.nvlink_bandwidth = 700_Gbps;
        const NodeWiring wiring(node, 8);
        std::vector<LinkInfo> links;
        std::vector<LinkEnds> ends;
        wiring.append_links(links);
        wiring.append_ends(0, 100, 200, ends);
        ASSERT_EQ(links.size(), wiring.num_links());
        ASSERT_EQ(ends.size(), wiring.num_links());
        for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
            Bandwidth out[2];
            Bandwidth in[2];
            for (std::size_t i = 0; i < links.size(); ++i) {
                const bool pcie = links[i].link_class == class_id(LinkClass::pcie);
                out[pcie] = out[pcie] + links[i].capacity * (ends[i].from == gpu ? 1 : 0);
                in[pcie] = in[pcie] + links[i].capacity * (ends[i].to == gpu ? 1 : 0);
            }
            EXPECT_EQ(out[0], 700_Gbps);
            EXPECT_EQ(in[0], 700_Gbps);
            EXPECT_EQ(out[1], 32_GBps);
            EXPECT_EQ(in[1], 32_GBps);
        }
    }
}

TEST(NodeWiring, MeshGivesEachOrderedPairItsOwnLink) {
    NodeSpec node = samples::a100_cluster(1).node;
    node.intra_node = IntraNodeKind::nvlink_mesh;
    node.gpus_per_node = 5;
    const NodeWiring wiring(node, 1);
    std::vector<LinkEnds> ends;
    wiring.append_ends(10, 0, 100, ends);
    for (std::uint32_t a = 0; a < 5; ++a) {
        for (std::uint32_t b = 0; b < 5; ++b) {
            if (a != b) {
                EXPECT_EQ(ends[wiring.nvlink_between(a, b)], (LinkEnds{10 + a, 10 + b}));
            }
        }
    }
    Path path;
    wiring.gpu_to_gpu(0, 3, 1, path);
    EXPECT_EQ(path.links.size(), 1U);
    EXPECT_EQ(path.latency, 300_ns);
}

TEST(NodeWiring, PcieCrossesTheSocketLinkOnlyBetweenSockets) {
    NodeSpec node = samples::a100_cluster(1).node;
    node.intra_node = IntraNodeKind::pcie;
    node.num_sockets = 2;
    node.socket_bandwidth = 20_GBps;
    const NodeWiring wiring(node, 4);
    const auto path_of = [&](std::uint32_t a, std::uint32_t b) {
        Path path;
        wiring.gpu_to_gpu(0, a, b, path);
        return offsets(path, 0);
    };
    EXPECT_EQ(path_of(0, 3), (std::vector<std::size_t>{0, 7}));
    EXPECT_EQ(path_of(0, 4), (std::vector<std::size_t>{0, 16, 9}));
    EXPECT_EQ(path_of(4, 0), (std::vector<std::size_t>{8, 17, 1}));
    Path path;
    wiring.gpu_to_nic(0, 1, 3, path);  // NICs 2 and 3 are on the second socket
    wiring.nic_to_gpu(0, 1, 1, path);  // NIC 1 is on the first, as GPU 1
    EXPECT_EQ(offsets(path, 0), (std::vector<std::size_t>{2, 16, 3}));
    EXPECT_EQ(path.latency, 1_us);
    node.socket_bandwidth = Bandwidth{};
    EXPECT_EQ(NodeWiring(node, 4).num_links(), 16U) << "an unlimited socket link is no link";
}

TEST(NodeWiring, GpusShareNicsEvenlyInOrder) {
    const NodeSpec node = samples::a100_cluster(1).node;
    const auto nics = [&](std::uint32_t count) {
        std::vector<std::uint32_t> result;
        for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
            result.push_back(NodeWiring(node, count).nic_of_gpu(gpu));
        }
        return result;
    };
    EXPECT_EQ(nics(8), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(nics(2), (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
    EXPECT_EQ(nics(16), (std::vector<std::uint32_t>{0, 2, 4, 6, 8, 10, 12, 14}));
}

TEST(NodeWiring, EfficiencyScalesCapacityAndRoundsDown) {
    NodeSpec node = samples::a100_cluster(1).node;
    node.pcie_efficiency = 1.0 / 3.0;
    node.pcie_bandwidth = Bandwidth::bits_per_second(1000);
    std::vector<LinkInfo> links;
    NodeWiring(node, 8).append_links(links);
    EXPECT_EQ(links.back().capacity.bits_per_second(), 333);
    EXPECT_EQ(links.front().capacity, 300_GBps);
}

}  // namespace
}  // namespace orrery
