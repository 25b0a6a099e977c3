// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/step_recorder.h"

#include <gtest/gtest.h>

#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

// Every op of every step once, in program order, one after the other inside the step.
TEST(StepRecorder, WritesDownEveryOpOfAStep) {
    TinyRun run{tiny_gpt(), tiny_plan()};
    StepRecorder recorder;
    run.executor().record(&recorder);
    for (std::int64_t s = 1; s <= 3; ++s) {
        recorder.begin_step(s);
        ASSERT_TRUE(run.executor().run_step());
        recorder.begin_loss();
        recorder.end_step();
    }
    ASSERT_EQ(recorder.steps().size(), 3U);
    for (const RecordedStep& step : recorder.steps()) {
        std::size_t next = 0;
        std::int64_t last = step.begin_ns;
        const auto& slots = run.executor().role().slots;
        for (std::uint32_t s = 0; s < slots.size(); ++s) {
            const auto& ops = run.program().segment_of(slots[s]).ops;
            for (std::uint32_t o = 0; o < ops.size(); ++o, ++next) {
                ASSERT_LT(next, step.ops.size());
                const RecordedOp& op = step.ops[next];
                EXPECT_EQ(op.slot, s);
                EXPECT_EQ(op.op, o);
                EXPECT_LE(last, op.begin_ns);
                EXPECT_LE(op.begin_ns, op.end_ns);
                EXPECT_GE(op.cpu_ns, 0);
                last = op.end_ns;
            }
        }
        EXPECT_EQ(next, step.ops.size());
        EXPECT_LE(last, step.loss_ns);
        EXPECT_LE(step.loss_ns, step.end_ns);
        EXPECT_GT(step.cpu_ns, 0);
    }
}

TEST(StepRecorder, KeepsTheLastStepsAndIgnoresWhatIsOutsideOfSteps) {
    StepRecorder recorder{2};
    recorder.add(0, 0, StepRecorder::now(), StepRecorder::now());
    for (std::int64_t s = 1; s <= 5; ++s) {
        recorder.begin_step(s);
        recorder.end_step();
        recorder.add(0, 0, StepRecorder::now(), StepRecorder::now());
    }
    ASSERT_EQ(recorder.steps().size(), 2U);
    EXPECT_EQ(recorder.steps()[0].step, 4);
    EXPECT_TRUE(recorder.steps()[1].ops.empty());
    EXPECT_EQ(recorder.steps()[1].loss_ns, recorder.steps()[1].end_ns);
}

}  // namespace
}  // namespace orrery
