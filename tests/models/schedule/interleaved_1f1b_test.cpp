// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/schedule/pipeline_clock.h"

namespace orrery {
namespace {

constexpr PassTimes kTimes{.forward = 5, .backward_input = 7, .backward_weight = 3};

TEST(Interleaved1F1B, DoesEachPassOnceAndNeverDeadlocks) {
    for (const ScheduleShape& shape : many_shapes(5)) {
        EXPECT_EQ(faults_of(interleaved_1f1b, shape), "") << text(shape);
        EXPECT_EQ(overtaking_in(interleaved_1f1b, shape), "") << text(shape);
        const PipelineRun run = run_pipeline(interleaved_1f1b, shape, {});
        EXPECT_FALSE(run.deadlock) << text(shape) << "\n" << run.text;
    }
}

// Also where the stages do not divide the micro-batches.
TEST(Interleaved1F1B, BubbleIsStagesMinusOneOverChunksTimesMicroBatches) {
    for (const ScheduleShape& shape : many_shapes(5)) {
        if (shape.micro_batches < shape.stages) {
            continue;
        }
        const PipelineRun run = run_pipeline(interleaved_1f1b, shape, kTimes);
        for (std::size_t s = 0; s < run.busy.size(); ++s) {
            EXPECT_EQ(run.bubble(s) * shape.chunks * shape.micro_batches,
                      (shape.stages - 1) * run.busy[s])
                << text(shape);
        }
    }
}

TEST(Interleaved1F1B, WithFewMicroBatchesIsNoWorseThanNotInterleaved) {
    for (const ScheduleShape& shape : many_shapes(5)) {
        if (shape.micro_batches >= shape.stages) {
            continue;
        }
        const ScheduleShape plain{.stages = shape.stages, .micro_batches = shape.micro_batches};
        const PassTimes whole{.forward = kTimes.forward * shape.chunks,
                              .backward_input = kTimes.backward_input * shape.chunks,
                              .backward_weight = kTimes.backward_weight * shape.chunks};
        EXPECT_LE(run_pipeline(interleaved_1f1b, shape, kTimes).end,
                  run_pipeline(one_f_one_b, plain, whole).end)
            << text(shape);
    }
}

// Korthikanti et al., 2022, section 4.2.3: the first stage holds p v (1 + (p-1)/(p v)) chunks.
TEST(Interleaved1F1B, FirstStageHoldsThePublishedNumberOfChunks) {
    for (const ScheduleShape& shape : many_shapes(5)) {
        const bool whole = shape.micro_batches % shape.stages == 0;
        if (whole && shape.micro_batches >= 2 * shape.stages && shape.chunks > 1) {
            const PipelineRun run = run_pipeline(interleaved_1f1b, shape, {});
            EXPECT_EQ(run.in_flight_max[0], shape.stages * shape.chunks + shape.stages - 1)
                << text(shape);
        }
    }
}

// Uneven groups cost at most v-1 chunks for each micro-batch that a group holds beyond p.
TEST(Interleaved1F1B, InFlightIsBoundedByTheLargestGroup) {
    for (const ScheduleShape& shape : many_shapes(5)) {
        const std::int32_t groups = std::max(1, shape.micro_batches / shape.stages);
        const std::int32_t largest = (shape.micro_batches + groups - 1) / groups;
        const PipelineRun run = run_pipeline(interleaved_1f1b, shape, {});
        for (std::int32_t s = 0; s < shape.stages; ++s) {
            const std::int32_t bound =
                2 * (shape.stages - s - 1) + (shape.chunks - 1) * std::max(largest, shape.stages);
            EXPECT_LE(
                run.in_flight_max[static_cast<std::size_t>(s)],
                shape.micro_batches < shape.stages ? shape.chunks * shape.micro_batches : bound + 1)
                << text(shape) << " stage " << s;
        }
    }
}

TEST(Interleaved1F1B, WithOneChunkIs1F1B) {
    const ScheduleShape shape{.stages = 4, .chunks = 1, .micro_batches = 6};
    for (std::int32_t s = 0; s < shape.stages; ++s) {
        EXPECT_EQ(interleaved_1f1b(shape, s), one_f_one_b(shape, s));
    }
}

TEST(Interleaved1F1B, TakesTurnsOnItsChunks) {
    const StageOrder order = interleaved_1f1b({.stages = 2, .chunks = 2, .micro_batches = 4}, 0);
    constexpr Pass kF = Pass::forward;
    constexpr Pass kB = Pass::backward;
    const StageOrder expected{{kF, 0, 0},
                              {kF, 0, 1},
                              {kF, 1, 0},
                              {kF, 1, 1},
                              {kF, 0, 2},
                              {kB, 1, 0},
                              {kF, 0, 3},
                              {kB, 1, 1},
                              {kF, 1, 2},
                              {kB, 0, 0},
                              {kF, 1, 3},
                              {kB, 0, 1},
                              {kB, 1, 2},
                              {kB, 1, 3},
                              {kB, 0, 2},
                              {kB, 0, 3}};
    EXPECT_EQ(order, expected);
}

}  // namespace
}  // namespace orrery
