// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

using namespace orrery::literals;

struct ClusterRead {
    ClusterSpec cluster;
    DeviceSpec device;
    std::string errors;
};

ClusterRead cluster_read(const std::string& text) {
    ClusterRead r;
    DocumentNode section = section_of(text);
    Errors errors;
    read_cluster(section, shipped_catalogue(), {}, r.cluster, r.device, errors);
    r.errors = lines_of(errors);
    return r;
}

TEST(ReadCluster, NamesBecomeWhatTheCatalogueSays) {
    const ClusterRead r = cluster_read("nodes: 4\nnode: dgx-h100\nfabric: ndr400-rail\n");
    ASSERT_EQ(r.errors, "");
    EXPECT_EQ(r.cluster.num_gpus(), 32U);
    EXPECT_EQ(r.cluster.node.name, "dgx-h100");
    EXPECT_EQ(r.cluster.fabric.name, "ndr400-rail");
    EXPECT_EQ(r.cluster.fabric.kind, FabricKind::rail);
    EXPECT_EQ(r.device.name, "h100-80g");
}

TEST(ReadCluster, ErrorsOfAllItsPartsComeAtOnce) {
    EXPECT_EQ(
        cluster_read("nodes: 0\n"
                     "node: {base: dgx-h100, device: {base: h100-80g, num_sms: 0}, nvls: maybe}\n"
                     "fabric: {kind: tree, nic_bandwidth: 0 Gbps}\n"
                     "rack: 3\n")
            .errors,
        "s.yaml:1:8: error: cluster.nodes is 0, out of range (hint: 1 to 1000000)\n"
        "s.yaml:2:58: error: cluster.node.device.num_sms is 0, out of range (hint: 1 to "
        "100000)\n"
        "s.yaml:2:68: error: cluster.node.nvls must be true or false, not 'maybe'\n"
        "s.yaml:3:16: error: cluster.fabric.kind can't be 'tree' (hint: one of clos, rail, "
        "single_switch, file)\n"
        "s.yaml:3:22: error: cluster.fabric.nic_bandwidth must not be zero (hint: 400 "
        "Gbps)\n"
        "s.yaml:4:1: error: unknown key 'rack' in 'cluster' (hint: one of nodes, node, "
        "kinds, fabric, ethernet, slow_node_share, slow_node_factor, placement, "
        "node_order, gpus)\n");
}

TEST(ReadCluster, ARackOfTraysHasTheNicsOfItsTrays) {
    // Entries of fabrics count the eight NICs of a server.
    const ClusterRead r = cluster_read("nodes: 2\nnode: gb200-nvl72\nfabric: ndr400-rail\n");
    ASSERT_EQ(r.errors, "");
    EXPECT_EQ(r.cluster.node.trays, 18U);
    EXPECT_EQ(r.cluster.fabric.nics_per_node, 72U);
    EXPECT_EQ(r.cluster.num_servers(), 36U);
    EXPECT_EQ(r.cluster.gpus_per_server(), 4U);
    EXPECT_EQ(r.cluster.nics_per_server(), 4U);
    const ClusterRead half = cluster_read(
        "nodes: 2\nnode: {base: gb200-nvl72, gpus_per_node: 36, trays: 9}\nfabric: "
        "{base: ndr400-rail, nics_per_node: 36}\n");
    EXPECT_EQ(half.errors, "");
    EXPECT_EQ(half.cluster.fabric.nics_per_node, 36U);
    EXPECT_EQ(cluster_read("nodes: 1\nnode: gb200-nvl72\n").cluster.fabric.nics_per_node, 72U);
}

TEST(ReadCluster, TraysThatDoNotFitAreErrorsThatSayHow) {
    EXPECT_EQ(cluster_read("nodes: 2\nnode: gb200-nvl72\n"
                           "fabric: {base: ndr400-rail, nics_per_node: 8}\n")
                  .errors,
              "s.yaml:3:44: error: cluster.fabric.nics_per_node is 8, but 18 trays of 4 NICs have "
              "72 (hint: leave it out; cluster.node.nics_per_tray changes it)\n");
    const std::string uneven =
        cluster_read(
            "nodes: 2\nnode: {base: gb200-nvl72, gpus_per_node: 70}\nfabric: ndr400-rail\n")
            .errors;
    EXPECT_NE(uneven.find("70 GPUs are not spread evenly over 18 trays"), std::string::npos)
        << uneven;
    const std::string joined =
        cluster_read("nodes: 2\nnode: {base: pcie-a100-8gpu, trays: 2}\nfabric: ndr400-rail\n")
            .errors;
    EXPECT_NE(joined.find("only NVLink switches join several trays"), std::string::npos) << joined;
}

TEST(ReadCluster, AJobMayFillItsLastNodePartly) {
    const std::string racks = "nodes: 2\nnode: gb200-nvl72\nfabric: ndr400-rail\n";
    const ClusterRead r = cluster_read(racks + "gpus: 100\n");
    ASSERT_EQ(r.errors, "");
    EXPECT_EQ(r.cluster.num_ranks(), 100U);
    EXPECT_EQ(r.cluster.num_gpus(), 144U);
    EXPECT_EQ(cluster_read(racks + "gpus: 144\n").cluster.num_ranks(), 144U);
    EXPECT_TRUE(cluster_read(racks + "gpus: 144\n").cluster.gpu_of_rank.empty());
    EXPECT_EQ(cluster_read(racks + "gpus: 145\n").errors,
              "s.yaml:4:1: error: cluster.gpus is 145: too many for 2 nodes of 72 GPUs (hint: "
              "cluster.nodes: 3)\n");
    EXPECT_EQ(cluster_read(racks + "gpus: 72\n").errors,
              "s.yaml:4:1: error: cluster.gpus is 72: 2 nodes of 72 GPUs are more than it needs "
              "(hint: cluster.nodes: 1)\n");
    EXPECT_EQ(cluster_read("nodes: 1\nnode: gb200-nvl72\ngpus: 100\n").errors,
              "s.yaml:3:1: error: cluster.gpus is 100: too many for 1 node of 72 GPUs (hint: "
              "cluster.nodes: 2)\n");
    EXPECT_EQ(words_of(r.cluster), "2 x gb200-nvl72 (100 of 144 GPUs)");
}

TEST(ReadCluster, AJobHasWholeTrays) {
    const std::string racks = "nodes: 2\nnode: gb200-nvl72\nfabric: ndr400-rail\n";
    EXPECT_EQ(cluster_read(racks + "gpus: 102\n").errors,
              "s.yaml:4:1: error: cluster.gpus is 102: not whole trays of 4 (hint: 100 or 104)\n");
    EXPECT_EQ(cluster_read("nodes: 1\nnode: gb200-nvl72\ngpus: 3\n").errors,
              "s.yaml:3:1: error: cluster.gpus is 3: not whole trays of 4 (hint: 4)\n");
    const ClusterRead servers =
        cluster_read("nodes: 2\nnode: dgx-h100\nfabric: ndr400-rail\ngpus: 11\n");
    EXPECT_EQ(servers.errors, "");
    EXPECT_EQ(servers.cluster.num_ranks(), 11U);
}

// Where the scheduler spreads racks over leaf sets, the last rack is still the one filled partly.
TEST(ReadCluster, APlacedJobLeavesOutTheEndOfTheLastNode) {
    const ClusterRead r = cluster_read(
        "nodes: 4\nnode: {base: gb200-nvl72, gpus_per_node: 8, trays: 2}\n"
        "fabric: {base: ndr400-rail, nodes_per_leaf_set: 4}\n"
        "placement: across_leaf_sets\ngpus: 28\n");
    ASSERT_EQ(r.errors, "");
    const std::vector<std::uint32_t>& placed = r.cluster.gpu_of_rank;
    ASSERT_EQ(placed.size(), 28U);
    EXPECT_EQ(placed[8], 16U) << "the second node of ranks is the third";
    EXPECT_EQ(*std::ranges::max_element(placed), 27U);
}

// What only the numbers together make impossible is said at the key that can change it, be that in
// the scenario or in the catalogue.
TEST(ReadCluster, AFabricThatCannotBeBuiltIsAnErrorAtItsKey) {
    EXPECT_EQ(
        cluster_read("nodes: 64\nnode: dgx-h100\n"
                     "fabric:\n  base: eth400-clos\n  oversubscription: 900\n")
            .errors,
        "s.yaml:5:21: error: oversubscription 900 asks for 0.07111 uplinks of 400 Gb/s for "
        "each leaf switch, in multiples of 1 (hint: 1 uplinks would be oversubscription 64)\n");
    EXPECT_NE(cluster_read("nodes: 64\nnode: dgx-h100\n"
                           "fabric:\n  base: eth400-clos\n  switch_radix: 3\n")
                  .errors.find("s.yaml:5:17: error: a leaf switch needs 128 ports"),
              std::string::npos);
    // A key that is left to its default: the place of the fabric.
    EXPECT_NE(
        cluster_read("nodes: 64\nnode: dgx-h100\nfabric: {kind: clos, nic_bandwidth: 100 Gbps, "
                     "uplink_bandwidth: 90 Tbps}\n")
            .errors.find("s.yaml:3:9: error: oversubscription 1 asks for"),
        std::string::npos);
}

TEST(ReadCluster, ALinkWithoutBandwidthIsAnError) {
    const std::string node =
        "nodes: 1\nnode: {device: a100-80g, gpus_per_node: 8, pcie_bandwidth: 32 GB/s, ";
    EXPECT_NE(cluster_read(node + "intra_node: nvswitch}\n").errors.find("no nvlink_bandwidth"),
              std::string::npos);
    EXPECT_EQ(cluster_read(node + "intra_node: pcie}\n").errors, "");
    EXPECT_NE(cluster_read("nodes: 1\nnode: {base: dgx-h100, pcie_bandwidth: 0 GB/s}\n")
                  .errors.find("pcie_bandwidth must not be zero"),
              std::string::npos);
}

TEST(ReadCluster, OneServerHasNoFabricAndManyNeedOne) {
    EXPECT_EQ(cluster_read("nodes: 1\nnode: dgx-h100\n").errors, "");
    EXPECT_NE(cluster_read("nodes: 2\nnode: dgx-h100\n").errors.find("lacks the key 'fabric'"),
              std::string::npos);
    EXPECT_NE(cluster_read("node: dgx-h100\n").errors.find("lacks the key 'fabric'"),
              std::string::npos);
    // Whether there are others is not known yet.
    for (const char* mistaken : {"0", "-3", "2.5"}) {
        const std::string errors =
            cluster_read(std::string{"nodes: "} + mistaken + "\nnode: dgx-h100\n").errors;
        EXPECT_NE(errors.find("cluster.nodes"), std::string::npos) << errors;
        EXPECT_EQ(errors.find("fabric"), std::string::npos) << errors;
    }
}

TEST(ReadCluster, MoreGpusThanASimulationHoldsAreAnErrorAtTheNodes) {
    EXPECT_EQ(
        cluster_read("nodes: 1000000\nnode: {base: dgx-h100, gpus_per_node: 4}\n"
                     "fabric: {kind: single_switch, nics_per_node: 1, nic_bandwidth: 400 Gbps}\n")
            .errors,
        "");
    EXPECT_EQ(cluster_read("nodes: 500001\nnode: dgx-h100\nfabric: ndr400-rail\n").errors,
              "s.yaml:1:8: error: 4000008 GPUs are more than a simulation can hold (hint: at most "
              "4000000)\n");
}

TEST(ReadCluster, RanksMayBePlacedAcrossLeafSets) {
    const std::string text =
        "nodes: 4\nnode: {base: dgx-h100, gpus_per_node: 2}\n"
        "fabric: {base: eth400-clos, nodes_per_leaf_set: 2}\n";
    EXPECT_TRUE(cluster_read(text + "placement: packed\n").cluster.gpu_of_rank.empty());
    const ClusterRead r = cluster_read(text + "placement: across_leaf_sets\n");
    EXPECT_EQ(r.errors, "");
    EXPECT_EQ(r.cluster.gpu_of_rank, (std::vector<std::uint32_t>{0, 1, 4, 5, 2, 3, 6, 7}));
}

TEST(ReadCluster, RanksTakeTheNodesInAnOrder) {
    const std::string text =
        "nodes: 3\nnode: {base: dgx-h100, gpus_per_node: 2}\nfabric: ndr400-rail\n";
    const ClusterRead r = cluster_read(text + "node_order: [2, 0, 1]\n");
    ASSERT_EQ(r.errors, "");
    EXPECT_EQ(r.cluster.gpu_of_rank, (std::vector<std::uint32_t>{4, 5, 0, 1, 2, 3}));
    const ClusterRead part = cluster_read(text + "node_order: [2, 0, 1]\ngpus: 5\n");
    EXPECT_EQ(part.cluster.gpu_of_rank, (std::vector<std::uint32_t>{4, 0, 1, 2, 3}));
    for (const char* order : {"[0, 1]", "[0, 1, 1]", "[0, 1, 3]", "[]", "[0, 1, 2, 2]"}) {
        EXPECT_NE(cluster_read(text + "node_order: " + order + "\n")
                      .errors.find("each of the 3 nodes once"),
                  std::string::npos)
            << order;
    }
    EXPECT_NE(cluster_read(text + "node_order: 1\n").errors.find("a list of whole numbers"),
              std::string::npos);
    EXPECT_NE(cluster_read(text + "node_order: [2, 0, 1]\nplacement: across_leaf_sets\n")
                  .errors.find("one of both"),
              std::string::npos);
}

TEST(ReadCluster, AFabricOfKindFileNamesItsFile) {
    EXPECT_NE(
        cluster_read("nodes: 2\nnode: dgx-h100\nfabric: {kind: file, nic_bandwidth: 100 Gbps}\n")
            .errors.find("lacks the key 'file'"),
        std::string::npos);
}

TEST(ReadCluster, ASectionThatIsNoMapIsOneError) {
    EXPECT_EQ(cluster_read("[1, 2]\n").errors,
              "s.yaml:1:1: error: cluster must be a map, not a list\n");
}

}  // namespace
}  // namespace orrery
