// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/cache_move_times.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace orrery {
namespace {

// Takes a millisecond, and 50 us a token.
class SlowMoves final : public DecodeStep {
public:
    Result<void> run(std::span<const DecodeChunk>, std::vector<float>&) override { return {}; }
    Result<void> send_cache(const CacheMove& move) override {
        EXPECT_EQ(move.other, 1U);
        return {};
    }
    Result<void> receive_cache(const CacheMove& move) override {
        EXPECT_EQ(move.other, 0U);
        EXPECT_EQ(std::ssize(move.blocks), (move.tokens + 3) / 4);
        std::this_thread::sleep_for(std::chrono::microseconds{1000 + 50 * move.tokens});
        return {};
    }
};

class Deaf final : public DecodeStep {
public:
    Result<void> run(std::span<const DecodeChunk>, std::vector<float>&) override { return {}; }
};

constexpr SchedulerLimits kLimits{.block_size = 4, .num_blocks = 10};

TEST(CacheMoveTimes, ALineThroughTheShortestAndTheLongest) {
    SlowMoves step;
    const auto times = measure_cache_moves({&step, 0, kLimits}, {&step, 1, kLimits}, 64);
    ASSERT_TRUE(times);
    // Sleeps are never too short.
    EXPECT_GE(times->of(40), Time::seconds(2.9e-3));
    EXPECT_GT(times->token_s, 0);
    EXPECT_GE(times->of(1), Time::seconds(1e-3));
    Deaf deaf;
    EXPECT_FALSE(measure_cache_moves({&deaf, 0, kLimits}, {&deaf, 1, kLimits}, 64));
}

TEST(QueuedCacheTransport, MovesComeOneAfterTheOther) {
    QueuedCacheTransport transport{{.fixed_s = 1e-3, .token_s = 1e-4}};
    EXPECT_EQ(transport.next_end(), Time::max());
    transport.start(Time::seconds(1), RequestId{4}, 0, 1, {.end = 10});
    transport.start(Time::seconds(1), RequestId{2}, 0, 1, {.end = 20});
    EXPECT_EQ(transport.next_end(), Time::seconds(1.002));
    std::vector<RequestId> ended;
    transport.pop_ended(Time::seconds(1.002), ended);
    EXPECT_EQ(ended, std::vector{RequestId{4}});
    EXPECT_EQ(transport.next_end(), Time::seconds(1.005));
    EXPECT_EQ(transport.moves(), 2);
    EXPECT_EQ(transport.tokens(), 30);
    EXPECT_EQ(transport.total(), Time::seconds(0.007));
}

}  // namespace
}  // namespace orrery
