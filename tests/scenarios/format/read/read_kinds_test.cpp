// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_kinds.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/read_sections.h"
#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

using namespace orrery::literals;

struct ReadKinds {
    ClusterSpec cluster;
    std::vector<DeviceSpec> devices;
    std::string errors;
};

ReadKinds read_kinds_of(const std::string& text) {
    ReadKinds r;
    DocumentNode section = section_of(text);
    DeviceSpec device;
    Errors errors;
    r.devices = read_cluster(section, shipped_catalogue(), {}, r.cluster, device, errors);
    r.errors = lines_of(errors);
    EXPECT_TRUE(r.devices.empty() || device.name == r.devices.front().name);
    return r;
}

bool has(const ReadKinds& r, const std::string& part) {
    return r.errors.find(part) != std::string::npos;
}

TEST(ReadKinds, EveryKindHasItsNodeDeviceAndAdapters) {
    const ReadKinds r = read_kinds_of(
        "kinds:\n"
        "  - {nodes: 2, node: dgx-h100}\n"
        "  - {nodes: 3, node: dgx-a100-80g, nics_per_node: 4, nic_bandwidth: 200 Gbps}\n"
        "fabric: eth400-clos\n");
    ASSERT_EQ(r.errors, "");
    ASSERT_EQ(r.cluster.kinds.size(), 2U);
    EXPECT_EQ(r.cluster.num_nodes, 5U);
    EXPECT_EQ(r.cluster.node.name, "dgx-h100");
    EXPECT_EQ(r.cluster.kinds[1].node.name, "dgx-a100-80g");
    EXPECT_EQ(r.cluster.kind(0).nic_bandwidth, 400_Gbps);
    EXPECT_EQ(r.cluster.kind(1).nic_bandwidth, 200_Gbps);
    EXPECT_EQ(r.cluster.kind(0).nics_per_node, 8U);
    EXPECT_EQ(r.cluster.kind(1).nics_per_node, 4U);
    ASSERT_EQ(r.devices.size(), 2U);
    EXPECT_EQ(r.devices[0].name, "h100-80g");
    EXPECT_EQ(r.devices[1].name, "a100-80g");
    EXPECT_EQ(r.cluster.kind_of_rank(15), 0U);
    EXPECT_EQ(r.cluster.kind_of_rank(16), 1U);
}

TEST(ReadKinds, NodesOfOneKindNeedNoList) {
    const ReadKinds r = read_kinds_of("nodes: 4\nnode: dgx-h100\nfabric: ndr400-rail\n");
    EXPECT_EQ(r.errors, "");
    EXPECT_TRUE(r.devices.empty());
    EXPECT_TRUE(r.cluster.kinds.empty());
    EXPECT_EQ(r.cluster.num_kinds(), 1U);
}

TEST(ReadKinds, EthernetNodesNeedNoFabric) {
    const std::string nodes = "kinds: [{nodes: 2, node: dgx-a100-80g, nic_class: ethernet}]\n";
    const ReadKinds r = read_kinds_of(nodes + "ethernet: ethernet-25\n");
    ASSERT_EQ(r.errors, "");
    EXPECT_EQ(r.cluster.ethernet.nic_bandwidth, 25_Gbps);
    EXPECT_EQ(r.cluster.fabric.name, "none");
    EXPECT_TRUE(has(read_kinds_of(nodes + "ethernet: ethernet-25\nfabric: eth400-clos\n"),
                    "nothing goes over a fabric"));
}

TEST(ReadKinds, ClassesThatCannotReachEachOtherAreErrorsAtTheirPlace) {
    const std::string kinds =
        "kinds:\n"
        "  - {nodes: 2, node: dgx-a100-80g, nic_class: infiniband}\n"
        "  - {nodes: 2, node: dgx-a100-80g, nic_class: roce}\n"
        "fabric: single-switch-400\n";
    const ReadKinds r = read_kinds_of(kinds);
    EXPECT_TRUE(
        has(r, ":3:47: error: nodes with infiniband and nodes with roce cannot reach each other"))
        << r.errors;
    EXPECT_TRUE(has(r, "(hint: cluster.ethernet: ethernet-25, for TCP between them)")) << r.errors;
    EXPECT_EQ(read_kinds_of(kinds + "ethernet: ethernet-25\n").errors, "");
    EXPECT_TRUE(has(read_kinds_of("kinds: [{nodes: 2, node: dgx-h100, nic_class: ethernet}]\n"),
                    "reach no other node"));
    EXPECT_TRUE(has(read_kinds_of("kinds: [{nodes: 2, node: dgx-h100, nic_class: ib}]\n"
                                  "fabric: eth400-clos\n"),
                    "infiniband"));
}

TEST(ReadKinds, ListsAndSingleKeysDoNotMix) {
    const std::string list = "kinds: [{nodes: 2, node: dgx-h100}]\nfabric: eth400-clos\n";
    EXPECT_EQ(read_kinds_of(list).errors, "");
    EXPECT_TRUE(has(read_kinds_of(list + "nodes: 2\n"), "cluster.kinds lists the nodes"));
    EXPECT_TRUE(has(read_kinds_of(list + "node: dgx-h100\n"), "cluster.kinds lists the nodes"));
    EXPECT_TRUE(has(read_kinds_of(list + "ethernet: ethernet-25\n"), "nothing goes over"));
    EXPECT_TRUE(has(read_kinds_of("nodes: 2\nnode: dgx-h100\nfabric: eth400-clos\n"
                                  "ethernet: ethernet-25\n"),
                    "cluster.kinds"));
}

TEST(ReadKinds, NamesTheItemOfAMistake) {
    EXPECT_TRUE(has(read_kinds_of("kinds: 3\n"), "must be a list of nodes"));
    EXPECT_TRUE(has(read_kinds_of("kinds: []\n"), "an empty list"));
    EXPECT_TRUE(has(read_kinds_of("kinds: [dgx-h100]\n"), "cluster.kinds[0] must be a map"));
    const ReadKinds r = read_kinds_of(
        "kinds: [{nodes: 1, node: dgx-h100, nicbandwidth: 1 Gbps}, {node: dgx-h10}]\n"
        "fabric: eth400-clos\n");
    EXPECT_TRUE(has(r, "cluster.kinds[0]")) << r.errors;
    EXPECT_TRUE(has(r, "nic_bandwidth")) << r.errors;
    EXPECT_TRUE(has(r, "dgx-h10")) << r.errors;
    EXPECT_TRUE(has(r, "cluster.kinds[1]")) << r.errors;
    EXPECT_TRUE(has(read_kinds_of("kinds: [{nodes: 2, node: dgx-h100, nic_class: ethernet, "
                                  "nic_bandwidth: 1 Gbps}]\nethernet: ethernet-25\n"),
                    "have the adapter of cluster.ethernet"));
    EXPECT_TRUE(has(read_kinds_of("kinds: [{nodes: 1, node: dgx-h100}, {nodes: 1, node: h100-1gpu}]"
                                  "\nfabric: eth400-clos\n"),
                    "GPUs a node"));
}

}  // namespace
}  // namespace orrery
