// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace read_recovery_test {

std::string recovery_errors(const std::string& text, std::vector<RecoveryPlan>* plans = nullptr) {
    Errors errors;
    std::vector<RecoveryPlan> ignored;
    read_recovery(section_of(text), {}, plans != nullptr ? *plans : ignored, errors);
    return lines_of(errors);
}

TEST(ReadRecovery, ReadsALadderInItsOrder) {
    std::vector<RecoveryPlan> plans;
    EXPECT_EQ(recovery_errors(
                  "name: all\n"
                  "policies: [{in_place: {attempts: 2}}, {spares: {count: 16}}, elastic,\n"
                  "  {peer_checkpoint: {copies: 3, placement: ring}}, {drain: {slow: false}},\n"
                  "  {over_eviction: {domain: pdu}}, {rollback: {checkpoints: 2}},\n"
                  "  {replay: {share: 0.01}}, {preflight: {duration: 2 min, finds: 0.8,\n"
                  "  localises: 0.7, false_positive: 0.1, rounds: 3}},\n"
                  "  {redundant: {failover: 5 s, overhead: 0.2}},\n"
                  "  {rail_failover: {stall: 2 s, bandwidth: 0.25, slowdown: 1.3}}]\n"
                  "checkpoint: {interval: 10 min, mode: blocking, stall: 1 s, write: 50 s, "
                  "load: 2 min}\n"
                  "detection: {heartbeat: 5 s}\n"
                  "attempts: 3\n",
                  &plans),
              "");
    ASSERT_EQ(plans.size(), 1u);
    const RecoveryPlan& plan = plans[0];
    ASSERT_EQ(plan.policies.size(), 11u);
    EXPECT_EQ(std::get<InPlaceRestart>(plan.policies[0]).attempts, 2u);
    EXPECT_EQ(std::get<HotSpares>(plan.policies[1]).count, 16u);
    EXPECT_TRUE(std::holds_alternative<ElasticDataParallel>(plan.policies[2]));
    EXPECT_EQ(std::get<PeerCheckpoint>(plan.policies[3]).placement.kind, PeerPlacementKind::ring);
    EXPECT_FALSE(std::get<PreemptiveDrain>(plan.policies[4]).slow);
    EXPECT_EQ(std::get<OverEviction>(plan.policies[5]).scope, Scope::pdu);
    EXPECT_EQ(std::get<PreflightCheck>(plan.policies[8]),
              (PreflightCheck{.rounds = 3,
                              .duration = WallTime::seconds(120),
                              .finds = 0.8,
                              .localises = 0.7,
                              .false_positive = 0.1}));
    EXPECT_EQ(std::get<RedundantComputation>(plan.policies[9]),
              (RedundantComputation{.failover = WallTime::seconds(5), .overhead = 0.2}));
    EXPECT_EQ(std::get<RailFailover>(plan.policies[10]),
              (RailFailover{.stall = WallTime::seconds(2), .bandwidth = 0.25, .slowdown = 1.3}));
    EXPECT_EQ(plan.checkpoint.rule, IntervalRule::fixed);
    EXPECT_EQ(plan.checkpoint.interval, WallTime::seconds(600));
    EXPECT_EQ(plan.checkpoint.mode, CheckpointMode::blocking);
    EXPECT_EQ(plan.detection->heartbeat, WallTime::seconds(5));
    EXPECT_EQ(plan.attempts_max, 3u);
}

TEST(ReadRecovery, ReadsPlansToCompare) {
    std::vector<RecoveryPlan> plans;
    EXPECT_EQ(recovery_errors("- {name: a, policies: [spares], checkpoint: {interval: young}}\n"
                              "- {policies: [reroute]}\n",
                              &plans),
              "");
    ASSERT_EQ(plans.size(), 2u);
    EXPECT_EQ(make_ladder(plans[0].policies)[0]->spares()->quantile, 0.99);
    EXPECT_EQ(plans[0].checkpoint.rule, IntervalRule::young);
    EXPECT_EQ(plans[1].name, "plan 2");
}

TEST(ReadRecovery, EveryMistakeIsTold) {
    for (const auto& [text, error] :
         {std::pair{"policies: [elastic, reroute]", "has elastic and reroute"},
          std::pair{"policies: [over_eviction, reroute]", "has over_eviction and reroute"},
          std::pair{"policies: [spares, spares]", "has spares twice"},
          std::pair{"policies: [sparse]", "did you mean 'spares'"},
          std::pair{"policies: [{spares: {count: 3, quantile: 0.9}}]", "a count and a quantile"},
          std::pair{"policies: [{replay: {share: 1.5}}]", "out of range"},
          std::pair{"policies: [{spares: 3}]", "recovery.policies.spares must be a map, not '3'"},
          std::pair{"policies: [[spares]]", "holds words and maps"},
          std::pair{"policies: spares", "must be a list"},
          std::pair{"checkpoint: {interval: often}", "young, daly, exact or adaptive"},
          std::pair{"checkpoint: {interval: 0 s}", "young, daly, exact or adaptive"},
          std::pair{"checkpoint: 5", "must be a map"},
          std::pair{"- {name: a}\n- {name: a}", "two recovery plans are named 'a'"},
          std::pair{"- 5", "must be a map"},
          std::pair{"polices: []", "did you mean 'policies'"}}) {
        EXPECT_NE(recovery_errors(text).find(error), std::string::npos) << text << "\n"
                                                                        << recovery_errors(text);
    }
}

}  // namespace read_recovery_test
}  // namespace orrery
