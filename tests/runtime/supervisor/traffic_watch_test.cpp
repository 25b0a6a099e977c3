// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/traffic_watch.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

// Alarms of `steps` steps, of a second each.
int alarms(TrafficWatch& watch, int steps, std::int64_t bytes) {
    static double now = 0;
    int count = 0;
    for (int i = 0; i < steps; ++i) {
        count += watch.step(3, bytes, now += 1) ? 1 : 0;
    }
    return count;
}

TEST(TrafficWatch, AFallIsAnAlarmOnce) {
    TrafficWatch watch;
    EXPECT_EQ(alarms(watch, 100, 1'000'000), 0);
    EXPECT_EQ(alarms(watch, 100, 100'000), 1);
    EXPECT_EQ(alarms(watch, 100, 1'000'000), 0);
    EXPECT_EQ(alarms(watch, 100, 100'000), 1);
}

TEST(TrafficWatch, ALongerStepIsAFallToo) {
    TrafficWatch watch;
    double now = 0;
    std::string words;
    for (int i = 0; i < 70; ++i) {
        if (const auto said = watch.step(3, 1'000'000, now += i < 50 ? 1 : 10)) {
            EXPECT_GT(i, 50);
            words = *said;
        }
    }
    EXPECT_TRUE(words.starts_with("the traffic of node 3 has fallen to")) << words;
    EXPECT_TRUE(words.ends_with("of its 1.00 MB/s")) << words;
}

TEST(TrafficWatch, NothingIsUsualAtTheBegin) {
    TrafficWatch watch;
    EXPECT_EQ(alarms(watch, 10, 1'000'000), 0);
    EXPECT_EQ(alarms(watch, 3, 1'000), 0);
    watch.restart();
    EXPECT_EQ(alarms(watch, 100, 1'000), 0);
}

TEST(TrafficWatch, WhoIsAloneSendsNothing) {
    TrafficWatch watch;
    EXPECT_EQ(alarms(watch, 100, 0), 0);
}

}  // namespace
}  // namespace orrery
