// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/front_end_time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace orrery {
namespace {

// Takes the stated time, and more if nothing was computed for a while.
class DrowsyStep : public DecodeStep {
public:
    DrowsyStep(std::chrono::microseconds awake, std::chrono::microseconds drowsy)
        : awake_(awake), drowsy_(drowsy) {}

    Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) override {
        const auto now = std::chrono::steady_clock::now();
        const bool slept = now - last_ > std::chrono::milliseconds{4};
        std::this_thread::sleep_until(now + (slept ? drowsy_ : awake_));
        last_ = std::chrono::steady_clock::now();
        logits.clear();
        for (const DecodeChunk& chunk : chunks) {
            if (chunk.samples) {
                logits.insert(logits.end(), {0, 0, 0, 1});
            }
        }
        return {};
    }

private:
    std::chrono::microseconds awake_;
    std::chrono::microseconds drowsy_;
    std::chrono::steady_clock::time_point last_{};
};

Time front_end_of(DecodeStep& step, const MeasuredStepCost& cost) {
    const auto time = measured_front_end(*find_batching_rules("vllm_v1"),
                                         {.num_blocks = 100},
                                         {&step},
                                         cost,
                                         {.context = 64, .vocabulary = 4, .seed = 1});
    EXPECT_TRUE(time) << time.error().to_string();
    return *time;
}

// Sleeps may last longer on a busy machine, but not shorter.
TEST(FrontEndTime, IsWhatAWokenServerTakesBeyondItsSteps) {
    const MeasuredStepCost two_milliseconds{{.seconds = {2e-3}, .held_tokens = 64}};
    DrowsyStep step{std::chrono::microseconds{2000}, std::chrono::microseconds{5000}};
    EXPECT_GE(front_end_of(step, two_milliseconds), Time::seconds(0.003));
    // A cost that is more than the whole request leaves nothing.
    const MeasuredStepCost ten_seconds{{.seconds = {10}, .held_tokens = 64}};
    DrowsyStep quick{std::chrono::microseconds{100}, std::chrono::microseconds{100}};
    EXPECT_EQ(front_end_of(quick, ten_seconds), Time{});
}

// An instance that fails is an error.
class BrokenStep : public DecodeStep {
public:
    Result<void> run(std::span<const DecodeChunk>, std::vector<float>&) override {
        return fail("step", "broken");
    }
};

TEST(FrontEndTime, AStepThatFailsIsAnError) {
    BrokenStep step;
    const MeasuredStepCost cost{{.seconds = {1e-3}, .held_tokens = 64}};
    const auto time = measured_front_end(*find_batching_rules("vllm_v1"),
                                         {.num_blocks = 100},
                                         {&step},
                                         cost,
                                         {.context = 64, .vocabulary = 4});
    ASSERT_FALSE(time);
    EXPECT_EQ(time.error().what, "broken");
}

}  // namespace
}  // namespace orrery
