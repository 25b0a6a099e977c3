// SPDX-License-Identifier: Apache-2.0
#include "scenarios/campaign/state_times.h"

#include <gtest/gtest.h>

#include "models/transformer.h"
#include "scenarios/reader.h"

namespace orrery {
namespace {

Scenario weeks(const std::string& change) {
    const auto scenario =
        read_scenario(ORRERY_SOURCE_DIR "/scenarios/megascale-weeks.yaml", {.overrides = {change}});
    EXPECT_TRUE(scenario) << scenario.error().front().to_string();
    return *scenario;
}

// One copy for each data-parallel group: twice the replicas read no more from the store.
TEST(StateTimes, TheStoreServesAsMuchAsOneReplicaHas) {
    const StateTimes few = state_times(weeks("cluster.nodes=768"));
    const StateTimes many = state_times(weeks("cluster.nodes=1536"));
    EXPECT_EQ(few.read, many.read);
    EXPECT_GT(many.broadcast, WallTime{});
    EXPECT_EQ(few.broadcast, many.broadcast);
    const Scenario scenario = weeks("cluster.nodes=1536");
    const double bytes = 14.0 * static_cast<double>(num_parameters(scenario.model));
    EXPECT_NEAR(many.read.seconds(), bytes / 200e9, 1e-3);
    EXPECT_NEAR(many.write.seconds(), bytes / 100e9, 1e-3);
}

TEST(StateTimes, WithOneReplicaNothingIsBroadcast) {
    EXPECT_EQ(state_times(weeks("cluster.nodes=8")).broadcast, WallTime{});
}

}  // namespace
}  // namespace orrery
