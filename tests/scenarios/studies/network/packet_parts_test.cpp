// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/packet_parts.h"

#include <gtest/gtest.h>

#include "tests/scenarios/network_cluster.h"

namespace orrery {
namespace {

TEST(PacketParts, SpraysAsTheFabricDoesUnlessTold) {
    Scenario scenario = leaf_spine_scenario(8);
    NetworkSettings& settings = scenario.network_settings;
    settings.seed = 7;
    const auto hashed = packet_parts(scenario.cluster, settings);
    ASSERT_TRUE(hashed) << hashed.error().to_string();
    EXPECT_EQ(hashed->parameters.spray, packet::SprayKind::single);
    EXPECT_EQ(hashed->parameters.seed, 7U);
    scenario.cluster.fabric.routing = RoutingKind::spray;
    settings.packet.parameters = packet::published_parameters(packet::CongestionKind::dcqcn);
    const auto sprayed = packet_parts(scenario.cluster, settings);
    ASSERT_TRUE(sprayed);
    EXPECT_EQ(sprayed->parameters.spray, packet::SprayKind::oblivious);
    EXPECT_EQ(sprayed->parameters.recovery, packet::RecoveryKind::selective);
    // Every cable a link of its own, merged by nothing.
    EXPECT_EQ(sprayed->fabric.links().size(), hashed->fabric.links().size());
    settings.packet.spray_given = true;
    EXPECT_EQ(packet_parts(scenario.cluster, settings)->parameters.spray,
              packet::SprayKind::single);
}

TEST(PacketParts, ErrorsStandAtTheSection) {
    NetworkSettings settings;
    settings.packet.where = "s.yaml:3:4";
    EXPECT_EQ(at_packets({"", "what", ""}, settings).where, "s.yaml:3:4");
    EXPECT_EQ(at_packets({"there", "what", ""}, settings).where, "there");
}

}  // namespace
}  // namespace orrery
