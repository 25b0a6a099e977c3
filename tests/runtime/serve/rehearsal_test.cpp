// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/rehearsal.h"

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
        ++steps;
        return {};
    }
    std::int64_t steps = 0;

private:
    std::chrono::microseconds awake_;
    std::chrono::microseconds drowsy_;
    std::chrono::steady_clock::time_point last_{};
};

LivePool pool_of(DecodeStep& step, RequestRouter& router) {
    return {.rules = *find_batching_rules("vllm_v1"),
            .limits = {.num_blocks = 100},
            .instances = {&step},
            .router = &router};
}

ServedCosts costs_of(double seconds) {
    ServedCosts costs;
    costs.steps.push_back(MeasuredStepCost{{.seconds = {seconds}, .held_tokens = 64}});
    return costs;
}

LoadToRehearse two_requests(std::int64_t output_tokens) {
    return {
        .requests =
            {{.arrival = Time::seconds(0.03), .prompt_tokens = 5, .output_tokens = output_tokens},
             {.arrival = Time::seconds(100), .prompt_tokens = 7, .output_tokens = output_tokens}},
        .context = 128,
        .vocabulary = 4,
        .seed = 1};
}

TEST(Rehearsal, CorrectsByTheSumsOfStepsThatAreAwakeAndByMeansOfTheFirstOnes) {
    const MeasuredStepCost cost{{.seconds = {1e-3}, .held_tokens = 64}};
    const MeasuredStepCost::Fit fit =
        corrected(
            cost,
            {{1e-3, 0, 8e-3}, {1e-3, 0, 6e-3}, {1e-3, 1, 1e-3}, {1e-3, 8, 1e-3}, {3e-3, 900, 7e-3}})
            .fit();
    EXPECT_DOUBLE_EQ(fit.slower, 2);
    EXPECT_DOUBLE_EQ(fit.waking_s[0], 5e-3);
    EXPECT_EQ(fit.waking_s[1], 0);  // never less than awake
    EXPECT_EQ(fit.waking_s[2], 0);
    // Without a step that is awake, only the first ones are corrected.
    const MeasuredStepCost::Fit asleep = corrected(cost, {{1e-3, 0, 4e-3}}).fit();
    EXPECT_EQ(asleep.slower, 1);
    EXPECT_DOUBLE_EQ(asleep.waking_s[0], 3e-3);
    EXPECT_EQ(corrected(cost, {}).fit().slower, 1);
}

TEST(Rehearsal, RepeatsAShortLoadAndShortensALongOne) {
    DrowsyStep step{{}, {}};
    const auto router = make_request_router("round_robin", 1);
    const std::vector<LivePool> pools{pool_of(step, *router)};
    const LoadToRehearse load = two_requests(100);
    const auto requests = rehearsed_requests(pools, load, costs_of(1e-5));
    ASSERT_EQ(requests.size(), 64u);
    EXPECT_EQ(requests[0].arrival, Time::seconds(0.03));
    EXPECT_EQ(requests[1].arrival, Time::seconds(0.13));  // the gap was longer
    EXPECT_EQ(requests[2].arrival, Time::seconds(0.16));
    EXPECT_EQ(requests[2].prompt_tokens, 5);
    EXPECT_EQ(requests[3].prompt_tokens, 7);
    EXPECT_EQ(requests[0].output_tokens, 64);
    // Steps of a second: no more than one request, however long that takes.
    EXPECT_EQ(rehearsed_requests(pools, load, costs_of(1)).size(), 1u);
    EXPECT_TRUE(rehearsed_requests(pools, {.requests = {}, .context = 1}, costs_of(1)).empty());
}

// Sleeps may last longer on a busy machine, but not shorter. A request that is late shares steps
// with the next one.
TEST(Rehearsal, FindsWhatServedStepsTakeBeyondTheirCosts) {
    DrowsyStep step{std::chrono::microseconds{400}, std::chrono::microseconds{3000}};
    const auto router = make_request_router("round_robin", 1);
    ServedCosts costs = costs_of(200e-6);
    const auto done = rehearse({pool_of(step, *router)}, two_requests(12), costs);
    ASSERT_TRUE(done) << done.error().to_string();
    EXPECT_LE(step.steps, 12 * 64);
    EXPECT_GE(step.steps, 12 * 32);
    const MeasuredStepCost::Fit& fit = costs.steps.front().fit();
    EXPECT_GE(fit.slower, 2);
    EXPECT_GE(fit.waking_s[0] + 200e-6 * fit.slower, 3e-3);
    EXPECT_GE(costs.front_end, Time{});
}

// An instance that fails is an error.
class BrokenStep : public DecodeStep {
public:
    Result<void> run(std::span<const DecodeChunk>, std::vector<float>&) override {
        return fail("step", "broken");
    }
};

TEST(Rehearsal, AStepThatFailsIsAnError) {
    BrokenStep step;
    const auto router = make_request_router("round_robin", 1);
    ServedCosts costs = costs_of(1e-3);
    const auto done = rehearse({pool_of(step, *router)}, two_requests(3), costs);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().what, "broken");
}

}  // namespace
}  // namespace orrery
