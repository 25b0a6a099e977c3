// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/fabric_remarks.h"

#include <gtest/gtest.h>

#include "network/fabric/fabric.h"
#include "tests/network/fabric_samples.h"

namespace orrery {
namespace {

using Remarks = std::vector<std::string>;

TEST(FabricRemarks, OversubscriptionThatNothingCrossesIsSaid) {
    ClusterSpec spec = samples::a100_cluster(32);
    spec.fabric.tiers = 2;
    spec.fabric.nodes_per_leaf_set = 32;
    EXPECT_EQ(fabric_remarks(spec), Remarks{});
    spec.fabric.oversubscription = 3;
    EXPECT_EQ(fabric_remarks(spec),
              Remarks{"all 32 nodes are under one set of leaf switches: oversubscription 3 changes "
                      "nothing; cluster.fabric.nodes_per_leaf_set is 32"});
    spec.fabric.nodes_per_leaf_set = 3;  // 11 sets of 3 NICs a leaf and one uplink
    EXPECT_EQ(fabric_remarks(spec), Remarks{});
    spec.fabric.nodes_per_leaf_set = 32;
    spec.fabric.kind = FabricKind::single_switch;
    EXPECT_EQ(fabric_remarks(spec),
              Remarks{"a single switch has no uplinks: oversubscription changes nothing"});
    spec.num_nodes = 1;
    EXPECT_EQ(fabric_remarks(spec), Remarks{});
}

TEST(FabricRemarks, ARatioThatGivesNoWholeUplinksIsRounded) {
    ClusterSpec spec = samples::a100_cluster(32);
    spec.fabric.tiers = 2;
    spec.fabric.nodes_per_leaf_set = 8;
    spec.fabric.oversubscription = 3;  // 8 NICs a leaf: 2.67 uplinks
    ASSERT_TRUE(build_fabric(spec)) << build_fabric(spec).error().to_string();
    EXPECT_EQ(build_fabric(spec)->tree().leaf_uplinks(), 3U);
    EXPECT_EQ(fabric_remarks(spec),
              Remarks{"oversubscription 3 gives no whole number of uplinks: 3 a leaf switch make "
                      "it 2.667"});
    spec.fabric.oversubscription = 4;
    EXPECT_EQ(fabric_remarks(spec), Remarks{});
}

TEST(FabricRemarks, SpinesLikewise) {
    ClusterSpec spec = samples::a100_cluster(1024);
    spec.fabric.spine_oversubscription = 45;
    const Remarks remarks = fabric_remarks(spec);
    ASSERT_EQ(remarks.size(), 1u);
    EXPECT_EQ(remarks[0],
              "spine_oversubscription 45 gives no whole number of uplinks: 1 an aggregation switch "
              "make it 64");
    spec.num_nodes = 64;
    EXPECT_EQ(fabric_remarks(spec),
              Remarks{"all 64 nodes are in one pod: spine_oversubscription 45 changes nothing"});
}

}  // namespace
}  // namespace orrery
