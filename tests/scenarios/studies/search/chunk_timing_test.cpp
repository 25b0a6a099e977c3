// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/chunk_timing.h"

#include <gtest/gtest.h>

#include <utility>

namespace orrery {
namespace {

// Two kernels with an exchange before them that waits for nothing, and one behind the first.
PassTiming pass_with_exchanges(bool first_waits) {
    std::vector<PassOp> ops(4);
    ops[0] = {.stream = 1, .is_kernel = false, .sms = 4, .duration = Time::picoseconds(50)};
    ops[1] = {.duration = Time::picoseconds(100), .launch = 2, .num_waits = first_waits ? 1U : 0U};
    ops[2] = {.stream = 1,
              .is_kernel = false,
              .sms = 4,
              .duration = Time::picoseconds(30),
              .launch = 3,
              .first_wait = 1,
              .num_waits = 1};
    ops[3] = {.duration = Time::picoseconds(100), .launch = 4, .first_wait = 2, .num_waits = 1};
    return {ops, {0, 1, 2}, 100};
}

TEST(ChunkTiming, TakesWhatWaitsForNothingOutOfAPass) {
    TimingPool pool;
    const auto placed = without_early_ops(pass_with_exchanges(true), 100, pool);
    ASSERT_TRUE(placed);
    EXPECT_EQ(placed->timing.timing->size(), 3u);
    EXPECT_EQ(placed->position, (std::vector<std::uint32_t>{kEarly, 0, 1, 2}));
    ASSERT_EQ(placed->timing.early.size(), 1u);
    EXPECT_EQ(placed->timing.early[0].transfer.alone, Time::picoseconds(50));
    ASSERT_FALSE(placed->timing.early_gates.empty());
    EXPECT_EQ(placed->timing.early_gates[0].op, 0u);
    EXPECT_TRUE(placed->timing.starts_early);
}

TEST(ChunkTiming, RefusesAPassThatDoesNotBeginBehindItsEarlyOps) {
    TimingPool pool;
    EXPECT_FALSE(without_early_ops(pass_with_exchanges(false), 100, pool));
}

TEST(ChunkTiming, ContentTellsChunksApart) {
    ChunkTiming chunk;
    const auto before = content_of(chunk);
    EXPECT_EQ(content_of(ChunkTiming{}), before);
    chunk.gradients.push_back({.transfer = {.alone = Time::picoseconds(5)}});
    const auto with_gradients = content_of(chunk);
    EXPECT_NE(with_gradients, before);
    chunk.parameters = std::exchange(chunk.gradients, {});
    EXPECT_NE(content_of(chunk), before);
    EXPECT_NE(content_of(chunk), with_gradients);
}

}  // namespace
}  // namespace orrery
