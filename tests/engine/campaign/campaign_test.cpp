// SPDX-License-Identifier: Apache-2.0
// Campaigns against closed forms; the reference cases with golden values stand in tests/golden.
#include "engine/campaign/campaign.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/campaign/statistics.h"
#include "engine/recovery/closed_forms.h"
#include "tests/engine/recovery/published_forms.h"

namespace orrery {
namespace {

WallTime s(double seconds) {
    return WallTime::seconds(seconds);
}

// One node whose processes die now and then, restarted where it is.
CampaignSpec dying_job(double mtbf, double checkpoint, double restart, double interval) {
    CampaignSpec spec;
    spec.job = {.slots = 1};
    spec.faults = {{.name = "bug",
                    .kind = FaultKind::software_bug,
                    .at = {Scope::job, 0},
                    .interval = {DistributionKind::exponential, s(mtbf)}}};
    spec.checkpoint = {.interval = s(interval), .stall = s(checkpoint)};
    spec.costs.restart_full = s(restart);
    // Failures during a restart are failures of the same incident: no operator is called.
    spec.limits.attempts_max = ~0U;
    spec.speed.step = WallTime::microseconds(1);
    return spec;
}

TEST(Campaign, WithALimitedCrewItIsTheBirthDeathChain) {
    CampaignSpec spec;
    spec.cluster.nodes = 68;
    spec.job = {.slots = 64};
    spec.horizon = WallTime::days(40000);
    spec.faults = {{.name = "crash",
                    .kind = FaultKind::node_crash,
                    .at = {Scope::node, kEvery},
                    .interval = {DistributionKind::exponential, WallTime::days(64)}}};
    spec.repair.time = {DistributionKind::exponential, WallTime::days(1)};
    spec.repair.crews = 2;
    spec.detection.heartbeat = WallTime::microseconds(1);
    spec.checkpoint.interval = WallTime{};
    spec.policies = {HotSpares{}};
    const auto runs = run_seeds(spec, 1, 8, 2);
    double waiting = 0;
    for (const CampaignResult& run : runs) {
        waiting += static_cast<double>(run.use_us[static_cast<std::size_t>(NodeUse::waiting)]) /
                   static_cast<double>(run.wall.microseconds()) / 8;
    }
    EXPECT_NEAR(waiting / stall_share(1.0, 5, 2), 1, 0.04);
}

// V12
TEST(Campaign, WithoutFaultsItOnlyCheckpoints) {
    CampaignSpec spec = dying_job(1e9, 10, 300, 90);
    spec.faults.clear();
    spec.horizon = s(100000);
    const CampaignResult run = run_campaign(spec, 1);
    EXPECT_EQ(run.kept, s(90000));
    EXPECT_EQ(run.work_us, 90000LL * 1'000'000);
    EXPECT_EQ(run.interruptions, 0);
    spec.checkpoint.stall = WallTime{};
    EXPECT_EQ(run_campaign(spec, 1).ettr(), 1);
}

TEST(Campaign, FreeCheckpointsAndRestartsLoseOnlyTheWorkSince) {
    CampaignSpec spec = dying_job(3600, 0, 0, 1);
    spec.horizon = WallTime::days(30);
    EXPECT_NEAR(run_campaign(spec, 1).ettr(), 1 / segment_time_s(3600, 0, 0, 1), 1e-4);
}

CampaignSpec cluster_with_spares(std::uint32_t spares) {
    CampaignSpec spec;
    spec.cluster.nodes = 100 + spares;
    spec.job = {.slots = 100};
    spec.horizon = WallTime::days(100);
    spec.faults = {{.name = "lost",
                    .kind = FaultKind::gpu_lost,
                    .at = {Scope::node, kEvery},
                    .interval = {DistributionKind::exponential, WallTime::days(60)}}};
    spec.repair.time = {DistributionKind::lognormal, WallTime::days(2), 1.0};
    spec.checkpoint = {.interval = s(1800), .stall = s(5)};
    spec.costs.restart_full = s(300);
    spec.policies = {HotSpares{}};
    return spec;
}

TEST(Campaign, MoreSparesAreNeverWorseOnAverage) {
    double before = 0;
    for (const std::uint32_t spares : {0u, 1u, 2u, 4u, 8u, 16u}) {
        double ettr = 0;
        for (const CampaignResult& run : run_seeds(cluster_with_spares(spares), 1, 20, 2)) {
            ettr += run.ettr() / 20;
        }
        EXPECT_GE(ettr, before) << spares;
        before = ettr;
    }
    EXPECT_GT(before, 0.9);
}

TEST(Campaign, ShorterDetectionIsNeverWorseOnAverage) {
    double before = 0;
    for (const double timeout : {1800.0, 600.0, 60.0, 10.0}) {
        CampaignSpec spec = cluster_with_spares(16);
        spec.detection.node_agent = false;
        spec.detection.collective_timeout = s(timeout);
        double ettr = 0;
        for (const CampaignResult& run : run_seeds(spec, 1, 20, 2)) {
            ettr += run.ettr() / 20;
        }
        EXPECT_GT(ettr, before) << timeout;
        before = ettr;
    }
}

// The detection table: latency over MTBF is what each second of it costs.
TEST(Campaign, DetectionCostsItsLatencyOverTheMtbf) {
    CampaignSpec spec = dying_job(11134.8, 0, 0, 10);
    spec.faults[0].kind = FaultKind::job_hang;
    spec.horizon = WallTime::days(1500);
    for (const double timeout : {30.0, 600.0}) {
        spec.detection.collective_timeout = s(timeout);
        const CampaignResult run = run_campaign(spec, 7);
        // A hang during the wait does nothing more: a renewal of M + latency.
        EXPECT_NEAR(run.ettr(), 11134.8 / (11134.8 + timeout), 0.001);
    }
}

TEST(Campaign, SameSeedSameBytes) {
    const CampaignSpec spec = cluster_with_spares(3);
    const CampaignResult a = run_campaign(spec, 3, {.timeline = true, .log = true});
    const CampaignResult b = run_campaign(spec, 3, {.timeline = true, .log = true});
    EXPECT_FALSE(a.log.empty());
    EXPECT_EQ(a.log, b.log);
    EXPECT_EQ(a.work_us, b.work_us);
    EXPECT_NE(a.log, run_campaign(spec, 4, {.log = true}).log);
}

}  // namespace
}  // namespace orrery
