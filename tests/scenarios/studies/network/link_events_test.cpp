// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/link_events.h"

#include <gtest/gtest.h>

#include "tests/scenarios/network_cluster.h"

namespace orrery {
namespace {

using namespace literals;

TEST(LinkEvents, ACablesEventIsOneOfBothDirections) {
    const Fabric fabric = fabric_of(leaf_spine_scenario(4));
    const LinkEvent down{.link = "leaf 1 -> spine 2", .at = 3_ms};
    const auto changes = link_changes(fabric, {down});
    ASSERT_TRUE(changes);
    ASSERT_EQ(changes->size(), 2U);
    EXPECT_EQ(fabric.link_name((*changes)[0].link), "leaf 1 -> spine 2");
    EXPECT_EQ(fabric.link_name((*changes)[1].link), "spine 2 -> leaf 1");
    EXPECT_EQ((*changes)[1].at, 3_ms);
    EXPECT_EQ((*changes)[1].capacity, Bandwidth{});
}

TEST(LinkEvents, OneWayAndRestoredAndNeverFasterThanBuilt) {
    const Fabric fabric = fabric_of(leaf_spine_scenario(4));
    LinkEvent event{
        .link = "node 3 nic 0 -> leaf 0", .one_way = true, .at = 1_ms, .bandwidth = 900_Gbps};
    EXPECT_EQ(link_changes(fabric, {event})->at(0).capacity, 80_Gbps);
    event.bandwidth = 1_Gbps;
    EXPECT_EQ(link_changes(fabric, {event})->size(), 1U);
    EXPECT_EQ(link_changes(fabric, {event})->at(0).capacity, 1_Gbps);
    event.restores = true;
    EXPECT_EQ(link_changes(fabric, {event})->at(0).capacity, 80_Gbps);
}

TEST(LinkEvents, AnUnknownLinkIsAnErrorWithTheNearestName) {
    const Fabric fabric = fabric_of(leaf_spine_scenario(4));
    const auto changes = link_changes(fabric, {{.link = "leaf 1 -> spine 9", .where = "s:3:4"}});
    ASSERT_FALSE(changes);
    EXPECT_EQ(changes.error().where, "s:3:4");
    EXPECT_NE(changes.error().hint.find("did you mean 'leaf 1 -> spine "), std::string::npos);
}

}  // namespace
}  // namespace orrery
