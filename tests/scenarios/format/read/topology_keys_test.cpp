// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/topology_keys.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "tests/network/dgx_clusters.h"
#include "tests/scenarios/sections.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

using namespace literals;

ResultOrErrors<Scenario> read(const TestFolder& folder, const std::string& text) {
    ReadOptions options;
    options.network_only = true;
    return read_scenario(folder.write("s.yaml", text), options);
}

std::string h100_xml() {
    return write_nccl_topology(dgx_h100(), with_nics(200_Gbps), 90, pci_of_device("h100-80g"));
}

TEST(TopologyKeys, AServerAndItsNicsComeFromTheXml) {
    const TestFolder folder;
    folder.write("node.xml", h100_xml());
    const auto s = read(folder,
                        "cluster:\n  nodes: 2\n  node: {nccl_topology: node.xml}\n"
                        "  fabric: {kind: single_switch}\n");
    ASSERT_TRUE(s) << lines_of(s.error());
    EXPECT_EQ(s->cluster.node.gpus_per_node, 8U);
    EXPECT_EQ(s->cluster.node.nvlink_bandwidth, 450_GBps);
    EXPECT_EQ(s->cluster.node.name, "node");
    EXPECT_EQ(s->cluster.node.device, "h100-80g");
    EXPECT_EQ(s->cluster.fabric.nic_bandwidth, 200_Gbps);
    EXPECT_EQ(s->cluster.fabric.nics_per_node, 8U);
}

TEST(TopologyKeys, KeysBesideItWin) {
    const TestFolder folder;
    folder.write("node.xml", h100_xml());
    const auto s = read(folder,
                        "cluster:\n  nodes: 2\n"
                        "  node: {nccl_topology: node.xml, device: h200, gpus_per_node: 4}\n"
                        "  fabric: {kind: single_switch, nic_bandwidth: 100 Gbps}\n");
    ASSERT_TRUE(s) << lines_of(s.error());
    EXPECT_EQ(s->cluster.node.gpus_per_node, 4U);
    EXPECT_EQ(s->cluster.node.device, "h200");
    EXPECT_EQ(s->cluster.fabric.nic_bandwidth, 100_Gbps);
}

TEST(TopologyKeys, ErrorsOfTheXmlAreTheScenarios) {
    const TestFolder folder;
    folder.write("node.xml", "<system version=\"1\">\n<cpu/>\n</system>");
    const std::string text = "cluster:\n  nodes: 1\n  node: {nccl_topology: node.xml}\n";
    auto s = read(folder, text);
    ASSERT_FALSE(s);
    EXPECT_NE(lines_of(s.error()).find("node.xml:1: error: there is no <gpu>"), std::string::npos)
        << lines_of(s.error());
    s = read(folder, "cluster:\n  nodes: 1\n  node: {nccl_topology: none.xml}\n");
    ASSERT_FALSE(s);
    EXPECT_NE(lines_of(s.error()).find("s.yaml:3:25: error: "), std::string::npos)
        << lines_of(s.error());
}

TEST(TopologyKeys, ACloudsFileGivesWhatItSaysAndNamesWhatItDoesNot) {
    const TestFolder folder;
    folder.write("cloud.xml",
                 "<system version=\"1\"><cpu numaid=\"0\">"
                 "<pci busid=\"a\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\"/>"
                 "<pci busid=\"b\" class=\"0x030200\" link_speed=\"\" link_width=\"\"/>"
                 "</cpu></system>");
    const std::string begin = "cluster:\n  nodes: 1\n  node: {nccl_topology: cloud.xml";
    const auto s = read(folder,
                        begin +
                            ", device: a100-80g, intra_node: nvswitch, nvlink_bandwidth: 300 "
                            "GB/s, nvlink_latency: 1 us}\n");
    ASSERT_TRUE(s) << lines_of(s.error());
    EXPECT_EQ(s->cluster.node.gpus_per_node, 2U);
    EXPECT_EQ(s->cluster.node.intra_node, IntraNodeKind::nvswitch);
    const auto bare = read(folder, begin + ", device: a100-80g}\n");
    ASSERT_FALSE(bare);
    ASSERT_EQ(bare.error().size(), 1u) << lines_of(bare.error());
    EXPECT_NE(bare.error()[0].hint.find("intra_node: nvswitch"), std::string::npos);
    folder.write("cloud.xml", "<system version=\"1\"><cpu numaid=\"0\"/></system>");
    const auto empty = read(folder, begin + ", device: a100-80g}\n");
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().size(), 1u) << lines_of(empty.error());
}

}  // namespace
}  // namespace orrery
