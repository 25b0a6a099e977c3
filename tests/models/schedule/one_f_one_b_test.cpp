// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/schedule/pipeline_clock.h"

namespace orrery {
namespace {

TEST(OneFOneB, DoesEachPassOnceAndNeverDeadlocks) {
    for (const ScheduleShape& shape : many_shapes(1)) {
        EXPECT_EQ(faults_of(one_f_one_b, shape), "") << text(shape);
        EXPECT_EQ(overtaking_in(one_f_one_b, shape), "") << text(shape);
        const PipelineRun run = run_pipeline(one_f_one_b, shape, {});
        EXPECT_FALSE(run.deadlock) << text(shape) << "\n" << run.text;
    }
}

TEST(OneFOneB, BubbleIsStagesMinusOneOverMicroBatches) {
    const PassTimes times{.forward = 5, .backward_input = 7, .backward_weight = 3};
    for (const ScheduleShape& shape : many_shapes(1)) {
        const PipelineRun run = run_pipeline(one_f_one_b, shape, times);
        for (std::size_t s = 0; s < run.busy.size(); ++s) {
            EXPECT_EQ(run.bubble(s) * shape.micro_batches, (shape.stages - 1) * run.busy[s])
                << text(shape);
        }
    }
}

TEST(OneFOneB, KeepsAtMostTheStagesBehindItInFlight) {
    for (const ScheduleShape& shape : many_shapes(1)) {
        const PipelineRun run = run_pipeline(one_f_one_b, shape, {});
        for (std::int32_t s = 0; s < shape.stages; ++s) {
            EXPECT_EQ(run.in_flight_max[static_cast<std::size_t>(s)],
                      std::min(shape.stages - s, shape.micro_batches))
                << text(shape);
        }
    }
}

TEST(OneFOneB, AlternatesAfterItsWarmUp) {
    const StageOrder order = one_f_one_b({.stages = 2, .micro_batches = 3}, 0);
    const StageOrder expected{{Pass::forward, 0, 0},
                              {Pass::forward, 0, 1},
                              {Pass::backward, 0, 0},
                              {Pass::forward, 0, 2},
                              {Pass::backward, 0, 1},
                              {Pass::backward, 0, 2}};
    EXPECT_EQ(order, expected);
}

}  // namespace
}  // namespace orrery
