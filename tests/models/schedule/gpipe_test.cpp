// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/models/schedule/pipeline_clock.h"

namespace orrery {
namespace {

TEST(GPipe, DoesEachPassOnceAndNeverDeadlocks) {
    for (const ScheduleShape& shape : many_shapes(1)) {
        EXPECT_EQ(faults_of(gpipe, shape), "") << text(shape);
        EXPECT_EQ(overtaking_in(gpipe, shape), "") << text(shape);
        const PipelineRun run = run_pipeline(gpipe, shape, {});
        EXPECT_FALSE(run.deadlock) << text(shape) << "\n" << run.text;
    }
}

TEST(GPipe, BubbleIsStagesMinusOneOverMicroBatches) {
    const PassTimes times{.forward = 5, .backward_input = 7, .backward_weight = 3};
    for (const ScheduleShape& shape : many_shapes(1)) {
        const PipelineRun run = run_pipeline(gpipe, shape, times);
        for (std::size_t s = 0; s < run.busy.size(); ++s) {
            EXPECT_EQ(run.bubble(s) * shape.micro_batches, (shape.stages - 1) * run.busy[s])
                << text(shape);
        }
    }
}

TEST(GPipe, KeepsEveryMicroBatchInFlight) {
    const PipelineRun run = run_pipeline(gpipe, {.stages = 3, .micro_batches = 8}, {});
    EXPECT_EQ(run.in_flight_max, (std::vector<std::int32_t>{8, 8, 8}));
}

TEST(GPipe, RunsTheBackwardPassesInReverse) {
    const StageOrder order = gpipe({.stages = 2, .micro_batches = 2}, 0);
    const StageOrder expected{{Pass::forward, 0, 0},
                              {Pass::forward, 0, 1},
                              {Pass::backward, 0, 1},
                              {Pass::backward, 0, 0}};
    EXPECT_EQ(order, expected);
}

}  // namespace
}  // namespace orrery
