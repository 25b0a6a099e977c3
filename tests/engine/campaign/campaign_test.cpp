// SPDX-License-Identifier: Apache-2.0
// Campaigns against the closed forms: V1, V3, V7 and V12 of the reference cases.
#include "engine/campaign/campaign.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/campaign/statistics.h"
#include "engine/recovery/closed_forms.h"

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
    // Failures during a restart are failures of the same incident: nobody is called.
    spec.limits.attempts_max = ~0U;
    spec.speed.step = WallTime::microseconds(1);
    return spec;
}

struct Pair {
    double value;
    double control;  // of known mean
};

// Of the values over the control, by least squares.
double slope_of(const std::vector<Pair>& runs) {
    Pair mean{};
    for (const Pair& run : runs) {
        mean.value += run.value / static_cast<double>(runs.size());
        mean.control += run.control / static_cast<double>(runs.size());
    }
    double both = 0;
    double square = 0;
    for (const Pair& run : runs) {
        both += (run.value - mean.value) * (run.control - mean.control);
        square += (run.control - mean.control) * (run.control - mean.control);
    }
    return square > 0 ? both / square : 0;
}

// Mean of the values with what the control explains taken out, and its standard error.
std::pair<double, double> controlled(const std::vector<Pair>& runs, double control_mean) {
    const auto n = static_cast<double>(runs.size());
    const double slope = slope_of(runs);
    double sum = 0;
    double squares = 0;
    for (const Pair& run : runs) {
        const double value = run.value - slope * (run.control - control_mean);
        sum += value;
        squares += value * value;
    }
    const double mean = sum / n;
    return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean) / (n - 2))};
}

// V1: wall time per committed segment, failures in checkpoints and restarts included.
TEST(Campaign, TakesTheClosedFormsTimePerSegment) {
    struct Case {
        double mtbf, checkpoint, restart, interval;
    };
    for (const Case& c :
         {Case{11134.8, 20, 300, 660}, Case{1080, 10, 600, 150}, Case{6480, 60, 300, 880}}) {
        CampaignSpec spec = dying_job(c.mtbf, c.checkpoint, c.restart, c.interval);
        const double expected = segment_time_s(c.mtbf, c.checkpoint, c.restart, c.interval);
        spec.horizon = s(expected * 40000);
        // The number of failures, a Poisson count of known mean, explains most of a run's luck.
        std::vector<Pair> runs;
        for (const CampaignResult& run : run_seeds(spec, 1, 96, 2)) {
            runs.push_back(
                {static_cast<double>(run.checkpoints) / 40000, static_cast<double>(run.faults)});
        }
        const auto [segments, error] = controlled(runs, spec.horizon.seconds() / c.mtbf);
        EXPECT_NEAR(segments, 1, 0.001) << c.mtbf;
        EXPECT_LT(error, 0.0004) << c.mtbf;  // or else the line above says nothing
    }
}

// V3: the share of time in which S + 1 nodes are down, whatever the repair time's distribution, to
// 0.3 %. Two sums of known mean 0 take out most of a run's luck: failures beyond rate x time in
// which nodes run, and time of repairs beyond what so many take on average.
TEST(Campaign, WaitsForNodesAsErlangSays) {
    constexpr double kNodes = 16;
    constexpr double kMtbf = 8;  // days, of a node
    for (const DistributionKind kind :
         {DistributionKind::exponential, DistributionKind::lognormal, DistributionKind::fixed}) {
        CampaignSpec spec;
        spec.cluster.nodes = 17;
        spec.job = {.slots = 16};
        spec.horizon = WallTime::days(8000);
        spec.faults = {{.name = "crash",
                        .kind = FaultKind::node_crash,
                        .at = {Scope::node, kEvery},
                        .interval = {DistributionKind::exponential, WallTime::days(kMtbf)}}};
        spec.repair.time = with_mean(kind, WallTime::days(1), 1.0);
        spec.detection.heartbeat = WallTime::microseconds(1);
        spec.checkpoint.interval = WallTime{};
        spec.policies = {HotSpares{}};
        std::vector<Pair> runs;
        std::vector<double> repairs;
        for (const CampaignResult& run : run_seeds(spec, 1, 80, 2)) {
            const double days = run.wall.days();
            const auto part = [&](std::int64_t us) { return static_cast<double>(us) / 8.64e10; };
            const double waited = part(run.use_us[static_cast<std::size_t>(NodeUse::waiting)]);
            const auto failures = static_cast<double>(run.faults);
            runs.push_back({waited / days, failures * kMtbf / kNodes - (days - waited)});
            repairs.push_back(part(run.nodes[NodeUse::repair]) - failures);
        }
        const double slope = slope_of(runs);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            runs[i] = {runs[i].value - slope * runs[i].control, repairs[i]};
        }
        const auto [waiting, error] = controlled(runs, 0);
        const double expected = erlang_b(kNodes / kMtbf, 2);
        EXPECT_NEAR(waiting / expected, 1, 0.003);
        EXPECT_LT(error / expected, 0.001);
    }
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
    EXPECT_GT(run_campaign(spec, 1).ettr(), 0.9998);
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
