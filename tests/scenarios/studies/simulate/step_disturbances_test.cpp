// SPDX-License-Identifier: Apache-2.0
// Faults in the middle of a simulated step of whole scenarios.
#include "scenarios/studies/simulate/step_disturbances.h"

#include <gtest/gtest.h>

#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

WallTime seconds(double s) {
    return WallTime::seconds(s);
}

Answer step_with(const std::vector<StepFault>& faults, bool fold = true) {
    Scenario scenario = small_scenario("disturbed", {});
    scenario.faults.in_step = faults;
    SimulationOptions options;
    options.fold = fold;
    const Result<Answer> answer = simulate_scenario(scenario, options);
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? *answer : Answer{};
}

double step_s() {
    return step_with({}).iteration.seconds();
}

TEST(StepDisturbances, TheSoonerAGpuSlowsDownTheLongerTheStep) {
    const double healthy = step_s();
    double before = 1e9;
    for (const double share : {0.0, 0.3, 0.6, 0.9}) {
        const Answer answer = step_with({{.kind = FaultKind::slow_gpu,
                                          .at = {Scope::gpu, 3},
                                          .time = seconds(share * healthy),
                                          .factor = 2}});
        EXPECT_GE(answer.iteration.seconds(), healthy);
        EXPECT_LE(answer.iteration.seconds(), before);
        EXPECT_NEAR(answer.healthy_iteration.seconds(), healthy, 1e-12);
        before = answer.iteration.seconds();
    }
}

// From its begin on it is the step with a standing fault.
TEST(StepDisturbances, AtTheBeginItIsAStandingFault) {
    Scenario standing = small_scenario("standing", {});
    standing.faults.processes = {{.name = "slow",
                                  .kind = FaultKind::slow_host,
                                  .at = {Scope::node, 1},
                                  .once = WallTime{},
                                  .factor = 1.5}};
    const double always = simulate_scenario(standing)->iteration.seconds();
    const double from_begin =
        step_with({{.kind = FaultKind::slow_host, .at = {Scope::node, 1}, .factor = 1.5}})
            .iteration.seconds();
    EXPECT_NEAR(from_begin / always, 1, 1e-3);
}

TEST(StepDisturbances, FoldedOrNotTheyAreTheSame) {
    const double healthy = step_s();
    const std::vector<std::vector<StepFault>> cases = {{{.kind = FaultKind::slow_nic,
                                                         .at = {Scope::nic, 1},
                                                         .time = seconds(0.2 * healthy),
                                                         .factor = 3}},
                                                       {{.kind = FaultKind::link_flap,
                                                         .at = {Scope::nic, 1},
                                                         .time = seconds(0.5 * healthy),
                                                         .duration = seconds(0.1 * healthy)}},
                                                       {{.kind = FaultKind::link_flap,
                                                         .at = {Scope::nic, 1},
                                                         .time = seconds(0.2 * healthy),
                                                         .duration = seconds(0.1 * healthy)},
                                                        {.kind = FaultKind::link_flap,
                                                         .at = {Scope::nic, 2},
                                                         .time = seconds(0.6 * healthy),
                                                         .duration = seconds(0.1 * healthy)},
                                                        {.kind = FaultKind::slow_gpu,
                                                         .at = {Scope::gpu, 3},
                                                         .time = seconds(0.5 * healthy),
                                                         .factor = 2}}};
    for (const auto& faults : cases) {
        EXPECT_EQ(step_with(faults, true).iteration, step_with(faults, false).iteration);
    }
}

// Every fault of a step counts, whenever it comes.
TEST(StepDisturbances, SeveralFlapsAtDifferentTimesAllCost) {
    const double healthy = step_s();
    const auto flap = [&](std::uint32_t nic, double at) {
        return StepFault{.kind = FaultKind::link_flap,
                         .at = {Scope::nic, nic},
                         .time = seconds(at * healthy),
                         .duration = seconds(0.3 * healthy)};
    };
    const double first = step_with({flap(1, 0.1)}).iteration.seconds();
    const double second = step_with({flap(1, 0.6)}).iteration.seconds();
    const double both = step_with({flap(1, 0.1), flap(1, 0.6)}).iteration.seconds();
    EXPECT_GE(both, std::max(first, second));
    EXPECT_DOUBLE_EQ(step_with({flap(1, 0.6), flap(1, 0.1)}).iteration.seconds(), both);
}

TEST(StepDisturbances, ALostNodeHangsTheStepAndTheReportSaysWhoWaits) {
    const Answer answer = step_with(
        {{.kind = FaultKind::node_crash, .at = {Scope::node, 1}, .time = seconds(0.5 * step_s())}});
    ASSERT_TRUE(answer.hang);
    EXPECT_FALSE(answer.hang->lost.empty());
    ASSERT_FALSE(answer.hang->groups.empty());
    const StuckGroup& first = answer.hang->groups.front();
    EXPECT_FALSE(first.operation.empty());
    EXPECT_FALSE(first.group.empty());
    EXPECT_FALSE(first.waiting.empty());
    for (const RankId rank : first.waiting) {
        EXPECT_LT(index(rank), 4u);
    }
    for (const RankId rank : first.missing) {
        EXPECT_GE(index(rank), 4u);
    }
}

TEST(StepDisturbances, WhatCannotBeIsAnError) {
    const auto error_of = [](const StepFault& fault) {
        Scenario scenario = small_scenario("wrong", {});
        scenario.faults.in_step = {fault};
        const Result<Answer> answer = simulate_scenario(scenario);
        EXPECT_FALSE(answer);
        return answer ? "" : answer.error().what;
    };
    EXPECT_NE(error_of({.kind = FaultKind::slow_gpu, .at = {Scope::gpu, 0}, .time = seconds(1e6)})
                  .find("into a step that takes"),
              std::string::npos);
    EXPECT_NE(error_of({.kind = FaultKind::software_bug, .at = {Scope::job, 0}})
                  .find("does not happen in the middle"),
              std::string::npos);
    EXPECT_NE(error_of({.kind = FaultKind::link_flap, .at = {}, .link = "no such link"})
                  .find("no link 'no such link'"),
              std::string::npos);
}

}  // namespace
}  // namespace orrery
