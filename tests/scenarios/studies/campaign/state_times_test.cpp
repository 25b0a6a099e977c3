// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/state_times.h"

#include <gtest/gtest.h>

#include "models/transformer/transformer.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/campaign/run_campaign.h"
#include "scenarios/studies/simulate/degraded_steps.h"

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

// ByteCheckpoint's 405B on 8,960 GPUs: planned in 62 s, saved in 51.06 s. What a load then takes is
// published as 129.49 s; the same bytes at the same bandwidth, planned first, say an eighth less.
TEST(StateTimes, ALoadIsPlannedReadAndBroadcast) {
    const auto scenario = read_scenario(
        ORRERY_SOURCE_DIR "/scenarios/llama3-405b-54-days.yaml",
        {.overrides = {"cluster.nodes=1120",
                       "cluster.node=hgx-h800",
                       "plan.global_batch_size=2100",
                       "campaign.step_time=6 s",
                       "campaign.storage={planning: 62 s, write_bandwidth: 111.3 GB/s, "
                       "read_bandwidth: 111.3 GB/s}"}});
    ASSERT_TRUE(scenario);
    const StateTimes times = state_times(*scenario);
    EXPECT_NEAR(times.write.seconds(), 51.06, 0.1);
    EXPECT_EQ(times.planning, WallTime::seconds(62));
    RecoveryPlan plan = scenario->recovery.front();
    plan.checkpoint.load.reset();
    const auto steps = degraded_steps(*scenario, {});
    ASSERT_TRUE(steps);
    const double load = campaign_spec(*scenario, plan, *steps).costs.load_remote.seconds();
    EXPECT_NEAR(
        load, times.planning.seconds() + times.read.seconds() + times.broadcast.seconds(), 1e-5);
    EXPECT_NEAR(load / 129.49, 0.875, 0.01);
}

// 14 racks of 72 GPUs and 16 GPUs of another write through 1,024 NICs of 400 Gb/s.
TEST(StateTimes, APartlyFilledRackHasTheNicsOfItsTrays) {
    const auto scenario = read_scenario(ORRERY_SOURCE_DIR "/scenarios/llama3-405b-gb200.yaml", {});
    ASSERT_TRUE(scenario);
    EXPECT_NEAR(state_times(*scenario).store_share, 100e9 / (1024 * 50e9), 1e-9);
}

TEST(StateTimes, WithOneReplicaNothingIsBroadcast) {
    EXPECT_EQ(state_times(weeks("cluster.nodes=8")).broadcast, WallTime{});
}

}  // namespace
}  // namespace orrery
