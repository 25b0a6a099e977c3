// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/schedule/pipeline_clock.h"

namespace orrery {
namespace {

TEST(ZeroBubble, DoesEachPassOnceAndNeverDeadlocks) {
    for (const ScheduleShape& shape : many_shapes(1)) {
        EXPECT_EQ(faults_of(zero_bubble, shape), "") << text(shape);
        EXPECT_EQ(overtaking_in(zero_bubble, shape), "") << text(shape);
        const PipelineRun run = run_pipeline(zero_bubble, shape, {});
        EXPECT_FALSE(run.deadlock) << text(shape) << "\n" << run.text;
    }
}

// Qi et al., ZB-H1: (p-1)(F + B - W), which can't fall below the (p-1) F of the first forward.
TEST(ZeroBubble, BubbleIsThatOfZbH1) {
    for (const PassTimes times :
         {PassTimes{1, 1, 1}, PassTimes{5, 7, 3}, PassTimes{4, 4, 4}, PassTimes{3, 2, 6}}) {
        for (const ScheduleShape& shape : many_shapes(1)) {
            if (shape.micro_batches < shape.stages) {
                continue;
            }
            const PipelineRun run = run_pipeline(zero_bubble, shape, times);
            const std::int64_t longest =
                run.end - *std::min_element(run.busy.begin(), run.busy.end());
            const std::int64_t drain =
                std::max<std::int64_t>(times.backward_input - times.backward_weight, 0);
            EXPECT_EQ(longest, (shape.stages - 1) * (times.forward + drain)) << text(shape);
        }
    }
}

TEST(ZeroBubble, IsShorterThan1F1B) {
    for (const ScheduleShape& shape : many_shapes(1)) {
        const std::int64_t split = run_pipeline(zero_bubble, shape, {}).end;
        const std::int64_t whole = run_pipeline(one_f_one_b, shape, {}).end;
        if (shape.stages > 1) {
            EXPECT_LT(split, whole) << text(shape);
        } else {
            EXPECT_EQ(split, whole) << text(shape);
        }
    }
}

TEST(ZeroBubble, HoldsNoMoreThan1F1BsFirstStage) {
    for (const ScheduleShape& shape : many_shapes(1)) {
        const std::vector<std::int32_t> held = run_pipeline(zero_bubble, shape, {}).in_flight_max;
        EXPECT_LE(*std::max_element(held.begin(), held.end()),
                  std::min(shape.stages, shape.micro_batches))
            << text(shape);
    }
}

TEST(ZeroBubble, KeepsBackTheWeightGradientsOfLaterStages) {
    const StageOrder order = zero_bubble({.stages = 2, .micro_batches = 3}, 1);
    const StageOrder expected{{Pass::forward, 0, 0},
                              {Pass::backward_input, 0, 0},
                              {Pass::forward, 0, 1},
                              {Pass::backward_input, 0, 1},
                              {Pass::backward_weight, 0, 0},
                              {Pass::forward, 0, 2},
                              {Pass::backward_input, 0, 2},
                              {Pass::backward_weight, 0, 1},
                              {Pass::backward_weight, 0, 2}};
    EXPECT_EQ(order, expected);
}

}  // namespace
}  // namespace orrery
