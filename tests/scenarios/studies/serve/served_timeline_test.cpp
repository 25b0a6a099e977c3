// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/served_timeline.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using namespace literals;

ServedStep step(Time begin, Time length, std::int64_t generating, std::size_t instance = 0) {
    return {.instance = instance,
            .begin = begin,
            .first_stage_end = begin + length,
            .end = begin + length,
            .generating = generating,
            .waiting = 2 * generating,
            .cache = 0.5};
}

// Sums over all parts, times their length.
double seconds_of(const ServedTimeline& timeline, double PoolLoad::*figure) {
    double sum = 0;
    const auto loads = timeline.loads();
    for (const PoolLoad& load : loads.front()) {
        sum += load.*figure * timeline.part().seconds();
    }
    return sum;
}

TEST(ServedTimeline, PartsHoldAllThatHappenedHoweverLongTheRunIs) {
    ServedTimeline timeline;
    for (int i = 0; i < 1000; ++i) {
        timeline.completed(step(10_ms * i, 4_ms, 3));
    }
    EXPECT_LE(timeline.loads().front().size(), ServedTimeline::kMostParts);
    EXPECT_GT(timeline.loads().front().size(), ServedTimeline::kMostParts / 2 - 1);
    EXPECT_NEAR(seconds_of(timeline, &PoolLoad::computing), 4, 1e-9);
    EXPECT_NEAR(seconds_of(timeline, &PoolLoad::sequences), 12, 1e-9);
    EXPECT_NEAR(seconds_of(timeline, &PoolLoad::waiting), 24, 1e-9);
    EXPECT_NEAR(seconds_of(timeline, &PoolLoad::cache), 2, 1e-9);
    // Every part but the last has its share.
    EXPECT_NEAR(timeline.loads().front()[3].computing, 0.4, 0.1);
}

TEST(ServedTimeline, RunsMayLastAsLongAsTheirClock) {
    ServedTimeline timeline;
    const Time late = Time::seconds(7.9e6);
    timeline.completed(step(Time{}, 4_ms, 1));
    timeline.completed(step(late, Time::seconds(1e5), 2));
    EXPECT_NEAR(seconds_of(timeline, &PoolLoad::sequences) / 2e5, 1, 1e-6);
    EXPECT_LE(timeline.loads().front().size(), ServedTimeline::kMostParts);
}

TEST(ServedTimeline, ShowsTheStepsAroundTheFullestMoment) {
    ServedTimeline timeline;
    for (int i = 0; i < 2000; ++i) {
        timeline.completed(step(10_ms * i, 4_ms, i == 700 ? 90 : 3));
        timeline.completed(step(10_ms * i, 5_ms, 1, 1));
        timeline.completed(step(10_ms * i, 5_ms, 500, ServedTimeline::kShownInstances));
    }
    const auto lanes = timeline.fullest();
    ASSERT_EQ(lanes.size(), 2U);
    EXPECT_EQ(lanes[0].instance, 0U);
    EXPECT_EQ(lanes[1].instance, 1U);
    EXPECT_LE(lanes[0].steps.size(), ServedTimeline::kShownSteps);
    EXPECT_LT(lanes[0].steps.front().begin, 10_ms * 700);
    EXPECT_GT(lanes[0].steps.back().begin, 10_ms * 700);
    EXPECT_NEAR(
        static_cast<double>(lanes[1].steps.size()), static_cast<double>(lanes[0].steps.size()), 1);
}

TEST(ServedTimeline, OfAShortRunAllStepsAreShown) {
    ServedTimeline timeline;
    EXPECT_TRUE(timeline.fullest().empty());
    EXPECT_TRUE(timeline.loads().empty());
    for (int i = 0; i < 20; ++i) {
        timeline.completed(step(10_ms * i, 4_ms, i + 1));
    }
    EXPECT_EQ(timeline.fullest().front().steps.size(), 20U);
}

TEST(ServedTimeline, KeepsStepsUpToAMost) {
    ServedTimeline timeline;
    timeline.keep(5);
    for (int i = 0; i < 7; ++i) {
        timeline.completed(step(10_ms * i, 4_ms, 1));
    }
    EXPECT_EQ(timeline.kept().size(), 5U);
    EXPECT_EQ(timeline.left_out(), 2);
}

}  // namespace
}  // namespace orrery
