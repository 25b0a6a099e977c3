// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "engine/folded/folded_step.h"
#include "tests/engine/small_folded_step.h"

namespace orrery {
namespace {

using testing::pass_of;
using testing::us;

// One stage whose step ends with its last pass.
FoldedStep of_passes(const PassTiming& pass, std::uint32_t count) {
    FoldedStep step{.timings = {&pass}, .stages = {{}}, .meeting_sizes = {1}};
    step.stages[0].passes.assign(count, {.timing = 0});
    step.stages[0].data = {{.after = {{count - 1, 0}}, .meeting = 0}};
    return step;
}

TEST(FoldedPasses, FollowEachOther) {
    const PassTiming pass = pass_of(us(10));
    EXPECT_EQ(period_of(of_passes(pass, 3)), us(30));
}

TEST(FoldedPasses, WaitForTheHost) {
    const PassTiming pass = pass_of(us(10));
    FoldedStep step = of_passes(pass, 2);
    step.launch_cost = us(15);
    step.stages[0].passes[1].launches_before = 1;
    // Launched at 15 and at 30 us.
    EXPECT_EQ(period_of(step), us(40));
}

TEST(FoldedPasses, LoseTheSmsOfWhatRunsBeside) {
    const PassTiming pass = pass_of(us(10));
    FoldedStep step = of_passes(pass, 2);
    step.stages[0].data.insert(step.stages[0].data.begin(),
                               DataOp{.after = {{0, 0}}, .transfer = {us(4), 50}});
    // The second pass goes at half its rate for 4 us.
    EXPECT_EQ(period_of(step), us(10 + 4 + 8));
}

TEST(FoldedPasses, AnEarlyExchangeStartsBehindItsStreamsLastOp) {
    const PassTiming pass = pass_of(us(10));
    FoldedStep step = of_passes(pass, 3);
    FoldedStage& stage = step.stages[0];
    // That of the third pass, 12 us long, starts with the second one: the third waits 2 us for it.
    stage.early[0] = {{.num_after = 1, .after = {{0, 0}, {}}, .transfer = {us(12), 0}}};
    stage.passes[2].early_before[0] = 1;
    EXPECT_EQ(period_of(step), us(10 + 12 + 10));
    // Or one of its ops does.
    stage.passes[2].early_before[0] = 0;
    stage.gates = {{.op = 0, .kind = GateKind::early, .line = 0, .number = 0}};
    stage.passes[2].num_gates = 1;
    EXPECT_EQ(period_of(step), us(10 + 12 + 10));
}

}  // namespace
}  // namespace orrery
