// SPDX-License-Identifier: Apache-2.0
#include "network/nccl/nccl_topology.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace {

using namespace literals;

// As NCCL dumps it: one socket, a GPU with four NVSwitches and its NIC below one PCIe switch.
const std::string kOneGpu = R"(<system version="1">
  <cpu numaid="0" affinity="ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:18:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:1b:00.0" class="0x030200" vendor="0x10de" device="0x2330"
           link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:07:00.0" count="5" tclass="0x068000"/>
          <nvlink target="0000:08:00.0" count="4" tclass="0x068000"/>
          <nvlink target="0000:09:00.0" count="4" tclass="0x068000"/>
          <nvlink target="0000:0a:00.0" count="5" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:1c:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" latency="0.000000" guid="0x1" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
)";

std::string errors_of(const std::string& xml) {
    const auto topology = parse_nccl_topology(xml, "t.xml");
    std::string lines;
    if (!topology) {
        for (const Error& error : topology.error()) {
            lines += error.to_string() + "\n";
        }
        EXPECT_FALSE(lines.empty());
    }
    return lines;
}

std::string with(std::string xml, const std::string& from, const std::string& to) {
    const std::size_t at = xml.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return xml.replace(at, from.size(), to);
}

TEST(NcclTopology, IsReadAsNcclDumpsIt) {
    const auto t = parse_nccl_topology(kOneGpu, "t.xml");
    ASSERT_TRUE(t) << errors_of(kOneGpu);
    EXPECT_EQ(t->node.gpus_per_node, 1U);
    EXPECT_EQ(t->node.intra_node, IntraNodeKind::nvswitch);
    EXPECT_EQ(t->node.nvlink_bandwidth, 450_GBps);
    EXPECT_NEAR(t->node.pcie_bandwidth.gigabytes_per_second(), 63.015, 1e-3);
    EXPECT_TRUE(t->node.nvls);
    EXPECT_FALSE(t->node.amd_cpu);
    EXPECT_EQ(t->node.num_sockets, 1U);
    EXPECT_EQ(t->compute_capability, 90U);
    EXPECT_EQ(device_of_pci(t->pci_device), "h100-80g");
    EXPECT_EQ(t->nics_per_node, 1U);
    EXPECT_EQ(t->nic_bandwidth, 400_Gbps);
}

TEST(NcclTopology, WrittenServersAreReadBack) {
    for (NodeSpec node : {dgx_h100(), dgx_a100(), dgx_b200(), pcie_server(), v100_mesh()}) {
        for (const std::uint32_t sockets : {1U, 2U}) {
            node.num_sockets = sockets;
            FabricSpec fabric = with_nics(400_Gbps);
            fabric.nics_per_node = 4;
            const std::uint32_t sm = node.name == "dgx-b200"   ? 100
                                     : node.name == "dgx-h100" ? 90
                                                               : 80;
            const std::string xml = write_nccl_topology(node, fabric, sm, 0x20b2);
            const auto t = parse_nccl_topology(xml, "t.xml");
            ASSERT_TRUE(t) << errors_of(xml) << xml;
            EXPECT_EQ(t->node.gpus_per_node, node.gpus_per_node) << node.name;
            EXPECT_EQ(t->node.intra_node, node.intra_node) << node.name;
            EXPECT_EQ(t->node.nvlink_bandwidth, node.nvlink_bandwidth) << node.name;
            // Speeds of a PCIe link are told to a tenth of a GT/s.
            EXPECT_NEAR(t->node.pcie_bandwidth.gigabytes_per_second(),
                        node.pcie_bandwidth.gigabytes_per_second(),
                        0.2);
            EXPECT_EQ(t->node.nvls, node.nvls) << node.name;
            EXPECT_EQ(t->node.amd_cpu, node.amd_cpu) << node.name;
            EXPECT_EQ(t->node.num_sockets, sockets);
            EXPECT_EQ(t->compute_capability, sm);
            EXPECT_EQ(t->nics_per_node, 4U);
            EXPECT_EQ(t->nic_bandwidth, 400_Gbps);
        }
    }
}

TEST(NcclTopology, ErrorsNameLineAndAttribute) {
    EXPECT_EQ(errors_of(with(kOneGpu, "sm=\"90\" ", "")),
              "t.xml:6: error: <gpu> lacks the attribute 'sm'\n");
    EXPECT_NE(errors_of(with(kOneGpu, "speed=\"400000\"", "speed=\"fast\""))
                  .find("t.xml:15: error: attribute 'speed' of <net> can't be 'fast'"),
              std::string::npos);
    EXPECT_NE(errors_of(with(kOneGpu, "speed=\"400000\"", "speed=\"0\"")).find("must not be zero"),
              std::string::npos);
    EXPECT_NE(errors_of(with(kOneGpu, "count=\"5\"", "count=\"-5\"")).find("t.xml:7: error: "),
              std::string::npos);
    EXPECT_NE(errors_of(with(kOneGpu,
                             "device=\"0x2330\"\n           link_speed=\"32.0 GT/s PCIe\"",
                             "device=\"0x2330\" link_speed=\"quick\""))
                  .find("no PCIe link has speed 'quick' and width 16"),
              std::string::npos);
    // Several at once.
    const std::string both = with(with(kOneGpu, "sm=\"90\" ", ""), "speed=\"400000\" ", "");
    EXPECT_NE(errors_of(both).find("t.xml:6:"), std::string::npos);
    EXPECT_NE(errors_of(both).find("t.xml:15:"), std::string::npos);
}

TEST(NcclTopology, WhatIsNoTopologyIsSaidToBeNone) {
    EXPECT_NE(errors_of("").find("not XML"), std::string::npos);
    EXPECT_NE(errors_of("<system version=\"1\">\n<cpu>\n").find("error: not XML"),
              std::string::npos);
    EXPECT_NE(errors_of("<html/>").find("no <system>"), std::string::npos);
    EXPECT_NE(errors_of("<system version=\"1\"/>").find("there is no <gpu>"), std::string::npos);
    EXPECT_NE(errors_of("<system version=\"2\"/>").find("only version 1"), std::string::npos);
}

// Nothing that a file may hold is more than an error.
TEST(NcclTopology, HostileFilesAreErrors) {
    std::string deep = "<system version=\"1\">";
    for (int i = 0; i < 100'000; ++i) {
        deep += "<pci>";
    }
    errors_of(deep);
    for (int i = 0; i < 100'000; ++i) {
        deep += "</pci>";
    }
    EXPECT_NE(errors_of(deep + "</system>").find("inside each other"), std::string::npos);
    const std::string entities =
        "<!DOCTYPE s [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>";
    errors_of(entities + with(kOneGpu, "sm=\"90\"", "sm=\"&b;\""));
    EXPECT_NE(errors_of(std::string(17U << 20, ' ')).find("no topology of a server"),
              std::string::npos);
    std::mt19937 random(5);
    for (int trial = 0; trial < 2'000; ++trial) {
        std::string xml = kOneGpu;
        for (int change = 0; change < 5; ++change) {
            const std::size_t at = random() % xml.size();
            switch (random() % 3) {
                case 0:
                    xml[at] = static_cast<char>(random());
                    break;
                case 1:
                    xml.erase(at, random() % 20);
                    break;
                default:
                    xml.insert(at, 1, "<>\"/&09"[random() % 7]);
            }
        }
        parse_nccl_topology(xml, "t.xml");
    }
}

TEST(NcclTopology, KnowsTheCataloguesGpus) {
    for (const char* device : {"v100-32g", "a100-40g", "a100-80g", "h100-80g", "h200", "b200"}) {
        EXPECT_EQ(device_of_pci(pci_of_device(device)), device);
    }
    EXPECT_EQ(device_of_pci(0x1234), "");
    EXPECT_EQ(pci_of_device("abacus"), 0U);
}

// As clouds ship it: devices by their PCI class, links where the virtual machine shows them.
constexpr const char* kCloud = R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
    </pci>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0002:00:00.0" class="0x030200" link_speed="" link_width="0"/>
    <pci busid="0102:00:00.0" class="0x020700" link_speed="" link_width=""/>
  </cpu>
</system>)";

TEST(NcclTopology, DevicesWithoutElementsOfTheirOwnAreKnownByTheirClass) {
    const auto cloud = parse_nccl_topology(kCloud, "cloud.xml");
    ASSERT_TRUE(cloud) << cloud.error().front().to_string();
    EXPECT_EQ(cloud->node.gpus_per_node, 2u);
    EXPECT_EQ(cloud->node.num_sockets, 2u);
    EXPECT_TRUE(cloud->node.amd_cpu);
    EXPECT_FALSE(cloud->links_known);
    EXPECT_EQ(cloud->nics_per_node, 2u);
    EXPECT_EQ(cloud->nic_bandwidth, Bandwidth{});
    // The narrower of 16 lanes of 16 GT/s and NCCL's stand-in, 16 lanes of 8 GT/s.
    EXPECT_NEAR(cloud->node.pcie_bandwidth.gigabytes_per_second(), 15.754, 0.001);
}

}  // namespace
}  // namespace orrery
