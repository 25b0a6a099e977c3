// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/replay/replay.h"

#include <gtest/gtest.h>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

using Kind = ForeignOp::Kind;

TEST(Replay, ComputeAndMessagesFollowEachOther) {
    ForeignStep step;
    step.ranks.resize(2);
    step.ranks[0] = {
        {.kind = Kind::compute, .id = 1, .duration = Time::seconds(1e-3)},
        {.kind = Kind::send, .id = 2, .bytes = Bytes{1 << 30}, .peer = 1, .after = {1}}};
    step.ranks[1] = {
        {.kind = Kind::receive, .id = 1, .bytes = Bytes{1 << 30}, .peer = 0},
        {.kind = Kind::compute, .id = 2, .duration = Time::seconds(2e-3), .after = {1}}};
    const auto answer = replay(step, small_scenario("s", {}));
    ASSERT_TRUE(answer) << answer.error().front().to_string();
    EXPECT_EQ(answer->ranks, 2);
    EXPECT_EQ(answer->compute, Time::seconds(3e-3));
    EXPECT_GT(answer->messages, Time::seconds(1e-3));
    EXPECT_EQ(answer->compute + answer->messages + answer->contention, answer->step);
    EXPECT_EQ(answer->compute_mean, Time::seconds(1.5e-3));
}

TEST(Replay, WhatNobodyReceivesIsAnError) {
    ForeignStep step;
    step.ranks.resize(2);
    step.ranks[0] = {{.kind = Kind::send, .id = 1, .bytes = Bytes{8}, .peer = 1}};
    EXPECT_FALSE(replay(step, small_scenario("s", {})));
}

TEST(Replay, MoreRanksThanGpusIsAnError) {
    ForeignStep step;
    step.ranks.resize(9);
    const auto answer = replay(step, small_scenario("s", {}));
    ASSERT_FALSE(answer);
    EXPECT_NE(answer.error().front().what.find("8 GPUs, the traces have 9 ranks"),
              std::string::npos);
}

}  // namespace
}  // namespace orrery
