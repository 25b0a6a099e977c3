// SPDX-License-Identifier: Apache-2.0
// Random faults x random policies x random clusters on the real recovery code. Invariants: nothing
// aborts (the books are audited in every run), nothing stops for ever, the same seed gives the same
// bytes, and a replayed log gives the same actions. ORRERY_CAMPAIGNS=100000 runs the long form;
// ORRERY_CAMPAIGN=n runs scenario n alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "engine/base/counter_random.h"
#include "engine/campaign/campaign.h"

namespace orrery {
namespace {

class Dice {
public:
    explicit Dice(std::uint64_t scenario) : random_(scenario, 1, 1) {}
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_.next() % n); }
    bool heads() { return below(2) == 0; }
    double between(double low, double high) {
        return low * std::pow(high / low, random_.uniform());
    }
    WallTime time(double low, double high) { return WallTime::seconds(between(low, high)); }

private:
    CounterRandom random_;
};

FaultProcess random_process(Dice& dice, const ClusterShape& shape) {
    FaultProcess process;
    process.kind = static_cast<FaultKind>(dice.below(kNumFaultKinds));
    process.name = std::string{name(process.kind)};
    const bool on_node = info(process.kind).on_node();
    process.at = {on_node ? static_cast<Scope>(dice.below(7)) : Scope::job, kEvery};
    const DistributionKind kinds[] = {
        DistributionKind::exponential, DistributionKind::weibull, DistributionKind::lognormal};
    const double components = shape.components(process.at.scope);
    process.interval = {
        kinds[dice.below(3)], dice.time(3e3 * components, 1e6 * components), 0.5 + dice.below(3)};
    process.frailty = dice.below(4) == 0 ? 0.93 : 0;
    process.notice = dice.below(6) == 0 ? dice.time(1, 1e4) : WallTime{};
    if (dice.below(3) == 0) {
        process.duration = Distribution{DistributionKind::lognormal, dice.time(1, 1e5), 1.0};
    }
    if (dice.below(5) == 0) {
        process.escalation = Escalation{FaultKind::gpu_lost, 0.5, dice.time(1, 1e4)};
    }
    return process;
}

std::vector<PolicySpec> random_policies(Dice& dice, const CampaignSpec& spec) {
    const std::vector<PolicySpec> all{
        InPlaceRestart{.attempts = dice.below(4)},
        HotSpares{},
        ElasticDataParallel{.units_min = 1 + dice.below(3)},
        PipelineRerouting{},
        PeerCheckpoint{{static_cast<PeerPlacementKind>(dice.below(3)), 2 + dice.below(2)}},
        LocalCheckpoint{},
        PreemptiveDrain{.slow = dice.heads()},
        OverEviction{.scope = dice.heads() ? Scope::rack : Scope::pdu, .cluster = spec.cluster},
        RollbackAndSkip{.checkpoints = 1 + dice.below(3)},
        ReplayCheck{.share = 0.01},
        PreflightCheck{.rounds = 1 + dice.below(3),
                       .duration = dice.time(1, 300),
                       .finds = dice.heads() ? 1.0 : 0.5,
                       .localises = dice.heads() ? 1.0 : 0.5,
                       .false_positive = dice.heads() ? 0.0 : 0.2},
        RedundantComputation{.failover = dice.time(1, 60), .overhead = 0.1},
        RailFailover{.stall = dice.time(0.1, 10), .slowdown = 1.0 + 0.1 * dice.below(5)},
        CheckpointInterval{.rule = static_cast<IntervalRule>(dice.below(5)),
                           .fixed = dice.time(10, 1e4),
                           .stall = spec.checkpoint.stall,
                           .mtbf = dice.time(1e3, 1e5),
                           .step = spec.speed.step}};
    std::vector<PolicySpec> chosen;
    for (const PolicySpec& policy : all) {
        if (dice.heads()) {
            chosen.insert(
                chosen.begin() + dice.below(static_cast<std::uint32_t>(chosen.size()) + 1), policy);
        }
    }
    return chosen;
}

CampaignSpec random_campaign(std::uint64_t scenario) {
    Dice dice{scenario};
    CampaignSpec spec;
    const std::uint32_t units = 1 + dice.below(6);
    const std::uint32_t stages = 1 + dice.below(4);
    const std::uint32_t places = stages * (1 + dice.below(2));
    spec.job = {.slots = units * places,
                .units = units,
                .stages = stages,
                .unit_major = dice.heads(),
                .state_sharded = dice.heads()};
    spec.cluster = {.nodes = spec.job.slots + dice.below(6),
                    .nodes_per_rack = 1 + dice.below(4),
                    .nodes_per_pdu = 1 + dice.below(8)};
    spec.horizon = WallTime::days(3 + dice.below(20));
    for (std::uint32_t i = 1 + dice.below(5); i > 0; --i) {
        spec.faults.push_back(random_process(dice, spec.cluster));
    }
    spec.weather.burst_shape = dice.below(4) == 0 ? 0.5 : 0;
    spec.speed = {.step = dice.time(0.5, 60),
                  .slow_slope = 1,
                  .shrunk = {1.0, 0.9},
                  .micro_batches = 1 + dice.below(16)};
    spec.detection = {.node_agent = dice.heads(),
                      .heartbeat = dice.heads() ? dice.time(1, 100) : WallTime{},
                      .collective_timeout = dice.time(10, 2000),
                      .anomaly = dice.heads() ? dice.time(100, 1e5) : WallTime{},
                      .diagnosis = dice.heads() ? dice.time(1, 1000) : WallTime{},
                      .localisation = dice.heads() ? 1.0 : 0.5,
                      .false_positive = dice.heads() ? 0.0 : 0.3};
    spec.repair = {.time = {DistributionKind::lognormal, dice.time(100, 1e5), 1.5},
                   .crews = dice.below(3),
                   .first_time_fix = dice.heads() ? 1.0 : 0.5,
                   .worse_most = dice.heads() ? 1.0 : 3.0};
    spec.forecast = {.recall = dice.heads() ? 0.0 : 0.6, .precision = 0.5};
    spec.checkpoint = {.interval = dice.time(30, 1e4),
                       .stall = dice.heads() ? dice.time(0.1, 100) : WallTime{},
                       .copy = dice.heads() ? dice.time(1, 500) : WallTime{},
                       .copy_rate = kFullRate / (1 + dice.below(2)),
                       .memory_interval = spec.speed.step,
                       .memory_share = dice.below(1000)};
    spec.costs = {.swap = dice.heads() ? dice.time(1, 600) : WallTime{},
                  .restart_full = dice.heads() ? dice.time(1, 1000) : WallTime{},
                  .restart_in_place = dice.time(1, 100),
                  .reconfigure = dice.time(1, 200),
                  .failover = dice.time(1, 60),
                  .load_remote = dice.time(1, 2000),
                  .load_memory = dice.time(1, 20),
                  .call_operator = dice.time(1, 4000)};
    spec.policies = random_policies(dice, spec);
    return spec;
}

void check_scenario(std::uint64_t scenario) {
    SCOPED_TRACE(scenario);
    const CampaignSpec spec = random_campaign(scenario);
    const CampaignResult run = run_campaign(spec, scenario, {.timeline = true, .log = true});
    EXPECT_GE(run.work_us, 0);
    EXPECT_LE(run.kept, run.wall);
    EXPECT_GE(run.interruptions, 0);
    EXPECT_LE(run.ettr(), 1);
    // A job that stands still is noticed: it does so no longer than the last timeout.
    for (const TimelineEntry& entry : run.timeline) {
        if (entry.use == NodeUse::detection) {
            EXPECT_LE(entry.end - entry.begin, spec.detection.collective_timeout);
        }
    }
    // Never stuck: whatever is under way at the end began a bounded time before.
    const WallTime longest = WallTime::days(400);
    for (const WallTime recovery : run.recoveries) {
        EXPECT_LT(recovery, longest);
    }
    const CampaignResult again = run_campaign(spec, scenario, {.timeline = true, .log = true});
    EXPECT_EQ(run.log, again.log);
    EXPECT_EQ(run.work_us, again.work_us);
    EXPECT_EQ(run.nodes.total(), again.nodes.total());
}

TEST(RandomCampaigns, HoldTheInvariants) {
    if (const char* one = std::getenv("ORRERY_CAMPAIGN")) {
        return check_scenario(std::strtoull(one, nullptr, 10));
    }
    const char* wanted = std::getenv("ORRERY_CAMPAIGNS");
    const std::uint64_t count = wanted ? std::strtoull(wanted, nullptr, 10) : 500;
    for (std::uint64_t scenario = 0; scenario < count; ++scenario) {
        check_scenario(scenario);
        if (HasFailure()) {
            FAIL() << "scenario " << scenario;
        }
    }
}

}  // namespace
}  // namespace orrery
