// SPDX-License-Identifier: Apache-2.0
#include "engine/world/party_runs.h"

#include <gtest/gtest.h>

#include "engine/world/execution.h"
#include "tests/engine/small_plan.h"

namespace orrery {
namespace party_runs_test {

using namespace small_runs;

TEST(PartyRuns, CountTheStepsOfARun) {
    SmallPlan small;
    Execution execution(*small.plan, *small.rates);
    PartyRuns& runs = execution.runs;
    EXPECT_EQ(runs.next_start(), Time::max());
    runs.start(0, 4_ns, 3);
    EXPECT_EQ(runs.next_start(), 4_ns);
    EXPECT_EQ(runs.num_left(), 1u);
    ASSERT_TRUE(execution.run_to_next_end());
    EXPECT_EQ(runs.next_start(), Time::max());
    EXPECT_EQ(runs.num_left(), 0u);
    const RunEnd end = runs.take_ended();
    EXPECT_FALSE(runs.any_ended());
    EXPECT_EQ(end.start, 4_ns);
    ASSERT_EQ(end.steps.size(), 3u);
    for (std::size_t step = 0; step < 3; ++step) {
        EXPECT_TRUE(end.steps[step].reached);
        EXPECT_EQ(end.steps[step].path.total(), end.steps[step].time);
    }
    // All ranks end a step with the same collective: the steps are alike.
    const Time step = end.steps[0].time - 4_ns;
    EXPECT_GT(step, Time{});
    EXPECT_EQ(end.end(), 4_ns + step * 3);
}

// 15 ns | 5 ns, which need what the last op made in the step before | 10 ns, which the host reads |
// 20 ns on another stream.
ProgramBuilder overlapping_steps() {
    ProgramBuilder b({{"r", 1}});
    b.kernel(15_ns);
    b.kernel(5_ns);
    const std::uint32_t read = b.kernel(10_ns);
    b.host(20_ns, kOther, {read});
    b.program.roles[0].slots[0].waits = {{1, 0, 3, true}};
    b.program.roles[0].host_reads = {{0, read}};
    return b;
}

TEST(PartyRuns, WhatTheHostDoesNotReadOverlapsTheNextStep) {
    const ProgramBuilder b = overlapping_steps();
    const ScriptedNetwork network({});
    SimulationInput input = b.input(network);
    input.steps = 4;
    const SimulationResult result = run(input);
    EXPECT_EQ(result.step_end, (std::vector{50_ns, 85_ns, 120_ns, 155_ns}));
    EXPECT_EQ(traced(result, kRank0, 0, 2).start, 65_ns);
    EXPECT_EQ(traced(result, kRank0, 1, 2).start, 85_ns);
    EXPECT_EQ(result.iteration, 35_ns);
    EXPECT_EQ(result.critical_path.total(), 35_ns);
    EXPECT_EQ(result.critical_path[Cause::host], 20_ns);
    Program all = b.program;
    all.roles[0].host_reads.clear();
    input.program = &all;
    EXPECT_EQ(run(input).iteration, 50_ns);
}

// The host does not launch a step before it has launched the last one.
TEST(PartyRuns, LaunchesOfStepsFollowEachOther) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(1_ns);
    b.kernel(1_ns, kNet);
    b.program.roles[0].host_reads = {{0, 0}};
    const ScriptedNetwork network({});
    SimulationInput input = b.input(network);
    input.steps = 3;
    input.launch_cost = 10_ns;
    const SimulationResult result = run(input);
    EXPECT_EQ(result.step_end, (std::vector{21_ns, 41_ns, 61_ns}));
    EXPECT_EQ(traced(result, kRank0, 0, 2).start, 50_ns);
    EXPECT_EQ(result.critical_path[Cause::launch], 20_ns);
}

// A stream that nothing waits for falls behind by as much as it takes longer.
TEST(PartyRuns, AStreamMayFallBehindByManySteps) {
    ProgramBuilder b({{"r", 1}});
    b.kernel(1_ns);
    b.kernel(10_ns, kNet);
    b.program.roles[0].host_reads = {{0, 0}};
    const ScriptedNetwork network({});
    SimulationInput input = b.input(network);
    input.steps = 8;
    const SimulationResult result = run(input);
    EXPECT_EQ(traced(result, kRank0, 0, 7).end, 8_ns);
    EXPECT_EQ(result.step_end.front(), 10_ns);
    EXPECT_EQ(result.step_end.back(), 80_ns);
    EXPECT_EQ(result.critical_path.total(), 10_ns);
}

TEST(PartyRuns, ARankThatWasLostBetweenRunsNeverBegins) {
    SmallPlan small;
    Execution execution(*small.plan, *small.rates);
    execution.state.ranks[RankClassId{1}].lost = true;
    execution.runs.start(0, Time{}, 1);
    EXPECT_FALSE(execution.run_to_next_end());
    EXPECT_EQ(execution.runs.num_left(), 1u);
}

}  // namespace party_runs_test
}  // namespace orrery
