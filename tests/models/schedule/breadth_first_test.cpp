// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/models/schedule/pipeline_clock.h"

namespace orrery {
namespace {

TEST(BreadthFirst, DoesEachPassOnceAndNeverDeadlocks) {
    for (const ScheduleShape& shape : many_shapes(5)) {
        EXPECT_EQ(faults_of(breadth_first, shape), "") << text(shape);
        EXPECT_EQ(overtaking_in(breadth_first, shape), "") << text(shape);
        const PipelineRun run = run_pipeline(breadth_first, shape, {});
        EXPECT_FALSE(run.deadlock) << text(shape) << "\n" << run.text;
    }
}

TEST(BreadthFirst, BubbleIsStagesMinusOneOverChunksTimesMicroBatches) {
    const PassTimes times{.forward = 5, .backward_input = 7, .backward_weight = 3};
    for (const ScheduleShape& shape : many_shapes(5)) {
        if (shape.micro_batches < shape.stages) {
            continue;
        }
        const PipelineRun run = run_pipeline(breadth_first, shape, times);
        for (std::size_t s = 0; s < run.busy.size(); ++s) {
            EXPECT_EQ(run.bubble(s) * shape.chunks * shape.micro_batches,
                      (shape.stages - 1) * run.busy[s])
                << text(shape);
        }
    }
}

TEST(BreadthFirst, FinishesAChunkBeforeItStartsTheNext) {
    for (const ScheduleShape& shape : many_shapes(5)) {
        const StageOrder order = breadth_first(shape, 0);
        std::int32_t changes = 0;
        for (std::size_t i = 1; i < order.size(); ++i) {
            changes += order[i].chunk != order[i - 1].chunk ? 1 : 0;
        }
        EXPECT_EQ(changes, 2 * (shape.chunks - 1)) << text(shape);
    }
}

TEST(BreadthFirst, KeepsEverythingInFlight) {
    const ScheduleShape shape{.stages = 2, .chunks = 3, .micro_batches = 4};
    EXPECT_EQ(run_pipeline(breadth_first, shape, {}).in_flight_max,
              (std::vector<std::int32_t>{12, 12}));
}

}  // namespace
}  // namespace orrery
