// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/instance_timeline.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using namespace literals;
using Kind = InstanceChange::Kind;

TEST(InstanceTimeline, AnInstanceStopsBeforeItStartsAgain) {
    const ServingFaults faults{
        .outages = {{.instance = 1, .begin = 5_ms, .noticed = 5_ms, .end = 5_ms},
                    {.instance = 0, .begin = 1_ms, .noticed = 2_ms, .end = 5_ms}},
        .slowdowns = {}};
    const std::vector<InstanceChange> expected{
        {.at = 1_ms, .instance = 0, .kind = Kind::stop, .outage = 1},
        {.at = 2_ms, .instance = 0, .kind = Kind::notice, .outage = 1},
        {.at = 5_ms, .instance = 1, .kind = Kind::stop, .outage = 0},
        {.at = 5_ms, .instance = 1, .kind = Kind::notice, .outage = 0},
        {.at = 5_ms, .instance = 1, .kind = Kind::restart, .outage = 0},
        {.at = 5_ms, .instance = 0, .kind = Kind::restart, .outage = 1}};
    EXPECT_EQ(instance_timeline(faults), expected);
}

TEST(InstanceTimeline, TheLargestOfSeveralSlowdownsCounts) {
    const ServingFaults faults{
        .outages = {},
        .slowdowns = {{.instance = 0, .begin = 1_ms, .end = 9_ms, .factor = 2},
                      {.instance = 0, .begin = 3_ms, .end = 5_ms, .factor = 3},
                      {.instance = 0, .begin = 4_ms, .end = Time::max(), .factor = 1.5},
                      {.instance = 1, .begin = 4_ms, .end = 6_ms, .factor = 9}}};
    std::vector<std::pair<Time, double>> of_zero;
    for (const InstanceChange& change : instance_timeline(faults)) {
        EXPECT_EQ(change.kind, Kind::pace);
        if (change.instance == 0) {
            of_zero.emplace_back(change.at, change.factor);
        }
    }
    const std::vector<std::pair<Time, double>> expected{
        {1_ms, 2}, {3_ms, 3}, {4_ms, 3}, {5_ms, 2}, {9_ms, 1.5}};
    EXPECT_EQ(of_zero, expected);
}

}  // namespace
}  // namespace orrery
