// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/node_kinds.h"

#include <gtest/gtest.h>

#include "tests/network/mixed_clusters.h"

namespace orrery {
namespace {

using namespace orrery::literals;

TEST(NodeKinds, LinksOfANodeBeginBehindThoseOfAllNodesBefore) {
    ClusterSpec spec = two_kinds(2, dgx_h100(), 3, pcie_server());
    spec.kinds[1].node.socket_bandwidth = 10_GBps;
    spec.kinds[1].node.num_sockets = 2;
    const NodeWirings wirings(spec);
    const std::uint32_t of_h100 = wirings.of(0).num_links();
    const std::uint32_t of_pcie = wirings.of(4).num_links();
    EXPECT_EQ(of_h100, 4U * 8);
    EXPECT_EQ(of_pcie, 2U * 8 + 2);
    EXPECT_EQ(wirings.first_link(1), of_h100);
    EXPECT_EQ(wirings.first_link(2), 2 * of_h100);
    EXPECT_EQ(wirings.first_link(4), 2 * of_h100 + 2 * of_pcie);
    EXPECT_EQ(wirings.num_links(), 2 * of_h100 + 3 * of_pcie);
    for (std::uint32_t node = 0; node < 5; ++node) {
        EXPECT_EQ(wirings.node_of_link(wirings.first_link(node)), node);
        EXPECT_EQ(wirings.node_of_link(wirings.first_link(node) + wirings.of(node).num_links() - 1),
                  node);
    }
    EXPECT_EQ(wirings.most_sockets(), 2U);
    EXPECT_EQ(wirings.spec_of(1).name, "dgx-h100");
    EXPECT_EQ(wirings.spec_of(2).name, "pcie-server");
}

TEST(NodeKinds, OnlyEqualRdmaClassesDoWithoutTcp) {
    ClusterSpec spec = two_kinds(1, dgx_a100(), 1, dgx_a100());
    EXPECT_FALSE(speak_tcp(spec, 0, 1));
    spec = with_classes(spec, NicClass::infiniband, NicClass::infiniband);
    EXPECT_FALSE(speak_tcp(spec, 0, 1));
    spec = with_classes(spec, NicClass::infiniband, NicClass::roce);
    EXPECT_TRUE(speak_tcp(spec, 0, 1));
    EXPECT_FALSE(speak_tcp(spec, 1, 1));
    spec = with_classes(spec, NicClass::ethernet, NicClass::ethernet);
    EXPECT_TRUE(speak_tcp(spec, 0, 0));
}

std::string place_of_error(const ClusterSpec& spec) {
    const auto checked = check_kinds(spec);
    return checked ? "" : checked.error().where;
}

TEST(NodeKinds, NamesWhatDoesNotFitTogether) {
    const ClusterSpec good = two_kinds(1, dgx_h100(), 1, dgx_a100());
    EXPECT_EQ(place_of_error(good), "");
    ClusterSpec bad = good;
    bad.kinds[1].node.gpus_per_node = 4;
    EXPECT_EQ(place_of_error(bad), "cluster.kinds[1].node");
    bad = good;
    bad.kinds[1].node.intra_node = IntraNodeKind::nvlink_mesh;
    EXPECT_EQ(place_of_error(bad), "cluster.kinds[1].node");
    bad = good;
    bad.kinds[1].node.trays = 2;
    EXPECT_EQ(place_of_error(bad), "cluster.kinds[1].node");
    bad = good;
    bad.kinds[0].nics_per_node = 9;
    EXPECT_EQ(place_of_error(bad), "cluster.kinds[0].nics_per_node");
    bad = good;
    bad.kinds[1].num_nodes = 0;
    EXPECT_EQ(place_of_error(bad), "cluster.kinds[1].nodes");
    bad = good;
    bad.num_nodes = 3;
    EXPECT_EQ(place_of_error(bad), "cluster.kinds");
    bad = good;
    bad.kinds.resize(40, bad.kinds.back());
    EXPECT_EQ(place_of_error(bad), "cluster.kinds");
}

TEST(NodeKinds, AClassThatReachesNoOtherIsAnError) {
    const ClusterSpec plain = two_kinds(1, dgx_a100(), 1, dgx_a100());
    ClusterSpec spec = with_classes(plain, NicClass::infiniband, NicClass::roce);
    EXPECT_EQ(place_of_error(spec), "");
    spec.ethernet = {};
    EXPECT_EQ(place_of_error(spec), "cluster.kinds[1].nic_class");
    spec = with_classes(plain, NicClass::ethernet, NicClass::ethernet);
    EXPECT_EQ(place_of_error(spec), "");
    spec.ethernet = {};
    EXPECT_EQ(place_of_error(spec), "cluster.kinds[0].nic_class");
    spec = with_classes(plain, NicClass::roce, NicClass::one_fabric);
    EXPECT_EQ(place_of_error(spec), "cluster.kinds[1].nic_class");
    spec = with_classes(plain, NicClass::one_fabric, NicClass::roce);
    EXPECT_EQ(place_of_error(spec), "cluster.kinds[0].nic_class");
}

TEST(NodeKinds, AnEthernetIsOneSwitchThatSomeNodesNeed) {
    const ClusterSpec plain = two_kinds(1, dgx_a100(), 1, dgx_a100());
    ClusterSpec spec = with_classes(plain, NicClass::roce, NicClass::roce);
    EXPECT_EQ(place_of_error(spec), "cluster.ethernet");
    spec = with_classes(plain, NicClass::roce, NicClass::ethernet);
    spec.ethernet.nics_per_node = 2;
    EXPECT_EQ(place_of_error(spec), "cluster.ethernet");
    spec.ethernet.nics_per_node = 1;
    spec.ethernet.efficiency = 0;
    EXPECT_EQ(place_of_error(spec), "cluster.ethernet.efficiency");
}

TEST(NodeKinds, RdmaClassesDoNotShareSwitchesWithUplinks) {
    ClusterSpec spec =
        with_classes(two_kinds(4, dgx_a100(), 4, dgx_a100()), NicClass::infiniband, NicClass::roce);
    spec.fabric.kind = FabricKind::clos;
    spec.fabric.tiers = 2;
    spec.fabric.nodes_per_leaf_set = 4;
    EXPECT_TRUE(check_cluster(spec));
    spec.fabric.nodes_per_leaf_set = 3;
    const auto checked = check_cluster(spec);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().where, "cluster.kinds[1].nic_class");
    spec.fabric.nodes_per_leaf_set = 8;
    spec.fabric.multi_rail = false;  // one leaf, which has no uplinks
    EXPECT_TRUE(check_cluster(spec));
}

TEST(NodeKinds, NamesOfClasses) {
    EXPECT_EQ(name(NicClass::infiniband), "infiniband");
    EXPECT_EQ(name(NicClass::roce), "roce");
    EXPECT_EQ(name(NicClass::ethernet), "ethernet");
    EXPECT_EQ(name(NicClass::one_fabric), "one_fabric");
}

}  // namespace
}  // namespace orrery
