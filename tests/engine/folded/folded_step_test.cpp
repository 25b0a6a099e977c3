// SPDX-License-Identifier: Apache-2.0
#include "engine/folded/folded_step.h"

#include <gtest/gtest.h>

#include "tests/engine/small_folded_step.h"

namespace orrery {
namespace {

using testing::pass_of;
using testing::us;

// One micro-batch over two stages: forward there, backward back, and a norm.
TEST(FoldedStep, TwoStagesTakeTurns) {
    const PassTiming work = pass_of(us(10));
    const PassTiming norm = pass_of(us(1));
    FoldedStep step{.timings = {&work, &norm}, .stages = {{}, {}}, .meeting_sizes = {2}};
    const FixedTransfer sent{.alone = us(2)};
    for (FoldedStage& stage : step.stages) {
        stage.passes = {{.timing = 0}, {.timing = 0}, {.timing = 1}};
        stage.data = {{.after = {{2, 0}}, .transfer = {.alone = us(3)}, .meeting = 0}};
    }
    FoldedStage& first = step.stages[0];
    FoldedStage& second = step.stages[1];
    first.lines[1] = {{.after_pass = 0, .transfer = sent}};
    second.lines[0] = {{.transfer = sent}};
    second.waits = {{0, 1}};
    second.passes[0].num_waits = 1;
    second.lines[3] = {{.after_pass = 1, .transfer = sent}};
    first.lines[2] = {{.transfer = sent}};
    first.waits = {{2, 1}};
    first.passes[1].num_waits = 1;
    EXPECT_EQ(period_of(step), us(10 + 2 + 10 + 10 + 2 + 10 + 1 + 3));
    // A stage that ends its step later begins the next one later.
    first.tail = us(5);
    EXPECT_EQ(period_of(step), us(48 + 5));
    second.tail = us(5);
    EXPECT_EQ(period_of(step), us(48 + 5));
    second.tail = us(100);
    EXPECT_EQ(period_of(step), us(100 + 2 + 10 + 10 + 2 + 10 + 1 + 3));
}

TEST(FoldedStep, AMessageThatNobodyReceivesLeavesTheStepOpen) {
    const PassTiming work = pass_of(us(10));
    FoldedStep step{.timings = {&work}, .stages = {{}, {}}, .meeting_sizes = {2}};
    for (FoldedStage& stage : step.stages) {
        stage.passes = {{.timing = 0}};
        stage.data = {{.after = {{0, 0}}, .meeting = 0}};
    }
    EXPECT_EQ(period_of(step), us(10));
    step.stages[0].lines[1] = {{.after_pass = 0}};
    EXPECT_EQ(period_of(step), std::nullopt);
}

}  // namespace
}  // namespace orrery
