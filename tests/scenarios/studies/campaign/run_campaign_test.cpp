// SPDX-License-Identifier: Apache-2.0
// Campaigns of whole scenarios: what they cost and count. The published cases stand in
// tests/golden.
#include "scenarios/studies/campaign/run_campaign.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

Scenario shipped(const std::string& name, std::vector<std::string> overrides) {
    overrides.emplace_back("campaign.step_time=6 s");
    const auto scenario =
        read_scenario(ORRERY_SOURCE_DIR "/scenarios/" + name, {.overrides = std::move(overrides)});
    EXPECT_TRUE(scenario) << scenario.error().front().to_string();
    return *scenario;
}

CampaignAnswer answer_of(const Scenario& scenario) {
    const Result<CampaignAnswer> answer = run_campaign_scenario(scenario, {.threads = 2});
    EXPECT_TRUE(answer);
    return *answer;
}

// A store of a bit a second is never done with a checkpoint, and never reads one.
TEST(RunCampaign, TimesBeyondTheClockLastAsLongAsTheCampaign) {
    for (const char* const change : {"campaign.storage.write_bandwidth=1 bps",
                                     "campaign.storage.read_bandwidth=1 bps",
                                     "campaign.start_up.store_operation=3000000 d"}) {
        const Scenario scenario = shipped("megascale-weeks.yaml",
                                          {change, "campaign.days=5", "campaign.seeds=1"});
        const CampaignAnswer answer = answer_of(scenario);
        ASSERT_EQ(answer.plans.size(), 1U) << change;
        EXPECT_LT(answer.plans.front().goodput.mean, 0.9) << change;
    }
}

TEST(RunCampaign, CheckpointsTakeWhatBandwidthsSay) {
    Scenario scenario = shipped("llama3-405b-54-days.yaml", {});
    scenario.recovery[0].checkpoint.stall.reset();
    const DegradedSteps steps = *degraded_steps(scenario, {});
    const CampaignSpec spec = campaign_spec(scenario, scenario.recovery[0], steps);
    const double bytes = 14.0 * static_cast<double>(num_parameters(scenario.model));
    EXPECT_NEAR(spec.checkpoint.copy.seconds(), bytes / 100e9, 0.01);
    EXPECT_NEAR(spec.costs.load_remote.seconds(), bytes / 200e9, 1);
    EXPECT_GT(spec.costs.load_remote.seconds(), bytes / 200e9);  // the broadcast
    scenario.recovery[0].checkpoint.mode = CheckpointMode::blocking;
    const CampaignSpec blocking = campaign_spec(scenario, scenario.recovery[0], steps);
    EXPECT_EQ(blocking.checkpoint.copy, WallTime{});
    EXPECT_GT(blocking.checkpoint.stall, spec.checkpoint.copy);
}

TEST(RunCampaign, CheckpointTrafficSlowsTrainingOnTheSameNetwork) {
    Scenario scenario = shipped("llama3-405b-54-days.yaml", {});
    DegradedSteps steps = *degraded_steps(scenario, {});
    steps.exposed = 0.2;
    EXPECT_EQ(campaign_spec(scenario, scenario.recovery[0], steps).checkpoint.copy_rate, kFullRate);
    scenario.campaign.storage.shared = true;
    scenario.campaign.storage.write = Bandwidth::bytes_per_second(400'000'000'000'000);
    EXPECT_LT(campaign_spec(scenario, scenario.recovery[0], steps).checkpoint.copy_rate,
              kFullRate * 9 / 10);
}

// Communicators are counted, and with the processes they are a restart.
TEST(RunCampaign, ARestartIsItsProcessesAndCommunicators) {
    const PlanAnswer plan =
        answer_of(shipped("megascale-weeks.yaml", {"campaign.seeds=2"})).plans.front();
    EXPECT_EQ(plan.start_up.groups, 192 + 64 + 4 * 1536);
    EXPECT_EQ(plan.costs.restart_full, plan.start_up.processes + plan.start_up.communicators);
}

// What a store and its barriers cost shows in what the job makes of its time.
TEST(RunCampaign, ABlockingStoreCostsTrainingTime) {
    const auto ettr = [](const std::string& store, const std::string& barriers) {
        return answer_of(shipped("megascale-weeks.yaml",
                                 {"campaign.seeds=4",
                                  "campaign.start_up.store=" + store,
                                  "campaign.start_up.barriers=" + barriers}))
            .plans.front()
            .ettr.mean;
    };
    const double good = ettr("asynchronous", "every_kind");
    EXPECT_GT(good, ettr("blocking", "every_kind"));
    EXPECT_GT(good, ettr("asynchronous", "every_group") + 0.3);  // 3.6 hours, each time
}

// P6 and P10 follow from the scenario where their words are silent.
TEST(RunCampaign, RedundancyAndRailsTakeTheirCostsFromThePlan) {
    Scenario scenario =
        shipped("megascale-weeks.yaml", {"recovery.policies=[redundant, rail_failover, spares]"});
    DegradedSteps steps = *degraded_steps(scenario, {});
    const auto policies = [&] {
        return campaign_spec(scenario, scenario.recovery[0], steps).policies;
    };
    // 32 micro-batches, 8 stages of 6 chunks: a third of 32, less a bubble of 7/6, over 32 + 7/6.
    EXPECT_NEAR(std::get<RedundantComputation>(policies()[0]).overhead.value(),
                (32.0 / 3 - 7.0 / 6) / (32 + 7.0 / 6),
                1e-9);
    EXPECT_DOUBLE_EQ(std::get<RailFailover>(policies()[1]).slowdown.value(), 2);
    steps.simulated = true;
    steps.exposed = 0.1;
    EXPECT_DOUBLE_EQ(std::get<RailFailover>(policies()[1]).slowdown.value(), 1.1);
    EXPECT_EQ(campaign_spec(scenario, scenario.recovery[0], steps).costs.failover,
              WallTime::seconds(10));
}

TEST(RunCampaign, PlansMeetTheSameFaults) {
    Scenario scenario = shipped("llama3-405b-54-days.yaml", {"campaign.seeds=6"});
    RecoveryPlan same = scenario.recovery[0];
    same.name = "the same again";
    scenario.recovery.push_back(same);
    const CampaignAnswer answer = answer_of(scenario);
    EXPECT_EQ(answer.plans[1].ettr_over_first.mean, 0);
    EXPECT_EQ(answer.plans[1].ettr_over_first.deviation, 0);
    EXPECT_EQ(answer.plans[0].ettr_values, answer.plans[1].ettr_values);
}

// V12: without faults a campaign is the fault-free simulator, to its microsecond.
TEST(RunCampaign, WithoutFaultsStepsFollowEachOther) {
    Scenario scenario = small_scenario("healthy", {});
    scenario.campaign.present = true;
    scenario.campaign.seeds = 1;
    scenario.campaign.length = WallTime::days(1);
    scenario.recovery = {{.name = "no checkpoints"}};
    scenario.recovery[0].checkpoint = {
        .rule = IntervalRule::fixed, .interval = WallTime::days(10), .stall = WallTime{}};
    const CampaignAnswer answer = answer_of(scenario);
    EXPECT_TRUE(answer.step_simulated);
    EXPECT_EQ(answer.plans[0].interruptions.mean, 0);
    EXPECT_EQ(answer.plans[0].ettr.mean, 1);
    EXPECT_EQ(answer.plans[0].goodput.mean, 1);
    const Result<Answer> step = simulate_scenario(scenario);
    ASSERT_TRUE(step);
    EXPECT_EQ(answer.step, WallTime::of(step->iteration));  // rounded up
    // Faults that never come leave every bit of the step as it is.
    scenario.faults.processes = {
        {.name = "never",
         .kind = FaultKind::node_crash,
         .at = {Scope::node, kEvery},
         .interval = {DistributionKind::exponential, WallTime::days(1'000'000'000)}}};
    const Result<Answer> same = simulate_scenario(scenario);
    ASSERT_TRUE(same);
    EXPECT_EQ(same->iteration, step->iteration);
    EXPECT_EQ(answer_of(scenario).plans[0].first.work_us, answer.plans[0].first.work_us);
}

}  // namespace
}  // namespace orrery
