// SPDX-License-Identifier: Apache-2.0
#include "models/schedule/schedule.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Schedule, EachKindIsItsOwnFunction) {
    const ScheduleShape plain{.stages = 3, .chunks = 1, .micro_batches = 5};
    const ScheduleShape looping{.stages = 3, .chunks = 2, .micro_batches = 6};
    for (std::int32_t s = 0; s < 3; ++s) {
        EXPECT_EQ(stage_order(ScheduleKind::gpipe, plain, s), gpipe(plain, s));
        EXPECT_EQ(stage_order(ScheduleKind::one_f_one_b, plain, s), one_f_one_b(plain, s));
        EXPECT_EQ(stage_order(ScheduleKind::zero_bubble, plain, s), zero_bubble(plain, s));
        EXPECT_EQ(stage_order(ScheduleKind::interleaved_1f1b, looping, s),
                  interleaved_1f1b(looping, s));
        EXPECT_EQ(stage_order(ScheduleKind::breadth_first, looping, s), breadth_first(looping, s));
    }
    EXPECT_NE(gpipe(plain, 0), one_f_one_b(plain, 0));
    EXPECT_NE(interleaved_1f1b(looping, 0), breadth_first(looping, 0));
}

TEST(Schedule, FlushesFollowOneAnother) {
    const ScheduleShape one{.stages = 2, .chunks = 2, .micro_batches = 4};
    ScheduleShape three = one;
    three.micro_batches = 12;
    three.flushes = 3;
    EXPECT_EQ(three.of_flush(), one);
    for (std::int32_t s = 0; s < 2; ++s) {
        StageOrder expected;
        for (std::int32_t flush = 0; flush < 3; ++flush) {
            for (WorkItem item : interleaved_1f1b(one, s)) {
                item.micro_batch += 4 * flush;
                expected.push_back(item);
            }
        }
        EXPECT_EQ(stage_order(ScheduleKind::interleaved_1f1b, three, s), expected);
    }
}

TEST(ScheduleDeathTest, AssertsThatTheStageExists) {
    const ScheduleShape shape{.stages = 2, .micro_batches = 2};
    EXPECT_DEATH(stage_order(ScheduleKind::gpipe, shape, 2), "stage");
    EXPECT_DEATH(stage_order(ScheduleKind::gpipe, {.stages = 0}, 0), "stages");
}

TEST(ScheduleDeathTest, AssertsThatASingleChunkScheduleHasOneChunk) {
    const ScheduleShape shape{.stages = 2, .chunks = 2, .micro_batches = 2};
    EXPECT_DEATH(stage_order(ScheduleKind::one_f_one_b, shape, 0), "chunks");
}

}  // namespace
}  // namespace orrery
