// SPDX-License-Identifier: Apache-2.0
// One scripted fault at a time: what each effect costs, to the microsecond where it is exact.
#include <gtest/gtest.h>

#include "tests/engine/campaign/small_campaign.h"

namespace orrery {
namespace {

FaultEvent event(double at, FaultKind kind, std::uint32_t node = 0, std::uint32_t count = 1) {
    return {.time = s(at), .nodes = {node, count}, .kind = kind};
}

CampaignSpec scripted(std::vector<FaultEvent> events) {
    CampaignSpec spec = small_campaign(10, std::move(events));
    spec.horizon = s(100000);
    spec.policies = {HotSpares{}};
    return spec;
}

std::int64_t use(const CampaignResult& run, NodeUse what) {
    return run.use_us[static_cast<std::size_t>(what)];
}

TEST(CampaignFaults, ALostNodeCostsDetectionReplacementRestartAndTheWorkSince) {
    const CampaignResult run = run_campaign(scripted({event(1500, FaultKind::node_crash)}), 1);
    EXPECT_EQ(use(run, NodeUse::detection), s(30).microseconds());
    EXPECT_EQ(use(run, NodeUse::replacing), s(10).microseconds());
    EXPECT_EQ(use(run, NodeUse::restart), s(100).microseconds());
    EXPECT_EQ(use(run, NodeUse::restore), s(50).microseconds());
    EXPECT_EQ(run.losses, std::vector<WallTime>{s(500)});
    EXPECT_EQ(run.recoveries, std::vector<WallTime>{s(190)});
    EXPECT_EQ(run.kept, s(100000 - 190 - 500));
    EXPECT_EQ(run.nodes[NodeUse::repair], s(5000).microseconds());
    EXPECT_EQ(run.interruptions, 1);
}

TEST(CampaignFaults, APlaceThatIsIdleDoesNotFail) {
    const CampaignResult run = run_campaign(scripted({event(1500, FaultKind::node_crash, 9)}), 1);
    EXPECT_EQ(run.faults, 0);
    EXPECT_EQ(run.kept, s(100000));
}

TEST(CampaignFaults, APowerFeedTakesAllItsNodesAndTheSparesOnIt) {
    const CampaignResult run =
        run_campaign(scripted({event(1500, FaultKind::power_loss, 6, 4)}), 1);
    EXPECT_EQ(run.evictions, 4);
    EXPECT_EQ(run.down_most, 4u);
    // Two places, no spare: until the repair.
    EXPECT_GT(use(run, NodeUse::waiting), s(4000).microseconds());
}

TEST(CampaignFaults, AFlapStallsOrKills) {
    FaultEvent flap = event(1500, FaultKind::link_flap);
    flap.duration = s(3);
    CampaignSpec spec = scripted({flap});
    const CampaignResult patient = run_campaign(spec, 1);
    EXPECT_EQ(use(patient, NodeUse::stall), 4'294'967);
    EXPECT_EQ(patient.interruptions, 0);
    spec.flap_timeout = 14;
    const CampaignResult hasty = run_campaign(spec, 1);
    EXPECT_EQ(hasty.interruptions, 1);
    EXPECT_GT(patient.ettr(), hasty.ettr());
}

TEST(CampaignFaults, ASlowNodeSlowsTheJobUntilItLeaves) {
    FaultEvent slow = event(10000, FaultKind::slow_host);
    slow.factor = 1.25;
    CampaignSpec spec = scripted({slow});
    const CampaignResult borne = run_campaign(spec, 1);
    EXPECT_NEAR(borne.goodput(), 0.1 + 0.9 / 1.25, 1e-4);
    EXPECT_NEAR(static_cast<double>(borne.nodes[NodeUse::straggler]) /
                    static_cast<double>(s(90000).microseconds() * 8),
                0.2,
                1e-4);
    spec.policies = {HotSpares{}, PreemptiveDrain{}};
    const CampaignResult drained = run_campaign(spec, 1);
    EXPECT_GT(drained.goodput(), 0.98);
    EXPECT_EQ(drained.losses, std::vector<WallTime>{WallTime{}});
    slow.duration = s(1000);
    EXPECT_NEAR(run_campaign(scripted({slow}), 1).goodput(), 0.99 + 0.01 / 1.25, 1e-4);
}

TEST(CampaignFaults, CorruptionIsFoundByReplayOrMuchLaterOrNever) {
    CampaignSpec spec = scripted({event(20500, FaultKind::silent_corruption, 3)});
    spec.detection.anomaly = WallTime{};
    EXPECT_EQ(run_campaign(spec, 1).corrupt_at_end, 1);
    spec.policies = {HotSpares{}, ReplayCheck{.share = 0.01}};
    const CampaignResult checked = run_campaign(spec, 1);
    EXPECT_EQ(checked.corrupt_at_end, 0);
    EXPECT_EQ(checked.evictions, 1);
    EXPECT_GE(checked.losses.front(), s(500));  // back to 20,000
    EXPECT_LE(checked.losses.front(), s(601));
    spec.policies = {HotSpares{}, RollbackAndSkip{}};
    spec.detection.anomaly = s(2000);
    const CampaignResult late = run_campaign(spec, 1);
    EXPECT_EQ(late.corrupt_at_end, 0);
    EXPECT_LT(late.ettr(), checked.ettr());
}

TEST(CampaignFaults, ASpikeComesBackUnlessItsBatchesAreSkipped) {
    FaultEvent spike = event(20500, FaultKind::loss_spike);
    spike.nodes = {};
    CampaignSpec spec = scripted({spike});
    const CampaignResult stubborn = run_campaign(spec, 1);
    EXPECT_GT(stubborn.restarts, 3);
    EXPECT_EQ(stubborn.operator_calls, 1);
    spec.policies = {RollbackAndSkip{}};
    const CampaignResult skipped = run_campaign(spec, 1);
    EXPECT_EQ(skipped.restarts, 1);
    EXPECT_EQ(skipped.operator_calls, 0);
}

TEST(CampaignFaults, AFaultWhileTheStoreIsDownGoesFurtherBackAndWaits) {
    FaultEvent outage = event(5500, FaultKind::store_outage);
    outage.nodes = {};
    outage.duration = s(4000);
    const CampaignResult run =
        run_campaign(scripted({outage, event(8500, FaultKind::node_crash)}), 1);
    EXPECT_EQ(run.losses, std::vector<WallTime>{s(3500)});  // 5,000 was the last to be written
    EXPECT_EQ(use(run, NodeUse::restore), s(9500 - 8500 - 30 - 110 + 50).microseconds());
}

TEST(CampaignFaults, AFalseAlarmCostsARestartAndATest) {
    CampaignSpec spec = scripted({event(1500, FaultKind::false_alarm)});
    const CampaignResult run = run_campaign(spec, 1);
    EXPECT_EQ(run.false_evictions, 1);
    EXPECT_EQ(run.nodes[NodeUse::repair], spec.repair.test.microseconds());
}

TEST(CampaignFaults, NoticeAndForecastLetNodesLeaveInTime) {
    FaultEvent leaving = event(5000, FaultKind::preemption, 2);
    leaving.notice = s(120);
    CampaignSpec spec = scripted({leaving});
    EXPECT_EQ(run_campaign(spec, 1).losses, std::vector<WallTime>{s(0)});
    spec.policies = {HotSpares{}, PreemptiveDrain{}};
    const CampaignResult told = run_campaign(spec, 1);
    EXPECT_EQ(told.interruptions, 0);
    EXPECT_EQ(told.losses, std::vector<WallTime>{WallTime{}});
    spec = scripted({event(5500, FaultKind::gpu_lost, 2)});
    spec.policies = {HotSpares{}, PreemptiveDrain{}};
    spec.forecast = {.recall = 1, .precision = 1, .lead = s(600)};
    const CampaignResult foreseen = run_campaign(spec, 1);
    EXPECT_EQ(foreseen.interruptions, 0);
    EXPECT_EQ(foreseen.foreseen, 1);
    spec.forecast.precision = 0.2;  // four false warnings for each
    EXPECT_GT(run_campaign(spec, 1).evictions, foreseen.evictions);
}

TEST(CampaignFaults, WornNodesFailMoreOften) {
    CampaignSpec spec = scripted({event(1, FaultKind::node_crash)});
    spec.horizon = WallTime::days(2000);
    spec.faults = {{.name = "crash",
                    .kind = FaultKind::node_crash,
                    .at = {Scope::node, kEvery},
                    .interval = {DistributionKind::exponential, WallTime::days(30)}}};
    const auto fresh = run_campaign(spec, 1).faults;
    spec.repair.worse_most = 719.4 / 151.7;  // SuperBench: 719 h before, 152 h after 20 repairs
    const auto worn = run_campaign(spec, 1).faults;
    EXPECT_GT(static_cast<double>(worn), 3.5 * static_cast<double>(fresh));
    EXPECT_LT(static_cast<double>(worn), 4.8 * static_cast<double>(fresh));
}

}  // namespace
}  // namespace orrery
