// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/replay_load.h"

#include <gtest/gtest.h>

#include <thread>

namespace orrery {
namespace {

// Takes two milliseconds, and samples token 3.
class SlowStep : public DecodeStep {
public:
    Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) override {
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
        logits.clear();
        for (const DecodeChunk& chunk : chunks) {
            if (chunk.samples) {
                logits.insert(logits.end(), {0, 0, 0, 1});
            }
        }
        return {};
    }
};

TEST(ReplayLoad, TimesAreOrderedAndArrivalsAreKept) {
    SlowStep step;
    const auto router = make_request_router("round_robin", 0);
    LiveServer server{
        *find_batching_rules("vllm_v1"), {.num_blocks = 100}, {.context = 100}, {&step}, *router};
    std::vector<Request> requests;
    for (int i = 0; i < 5; ++i) {
        requests.push_back(
            {.arrival = Time::seconds(0.01 * i), .prompt_tokens = 8, .output_tokens = 3});
    }
    requests.push_back({.arrival = Time::seconds(0.05), .prompt_tokens = 99, .output_tokens = 30});
    const auto prompts = drawn_prompts(requests, 4, 1);
    EXPECT_EQ(prompts, drawn_prompts(requests, 4, 1));
    const auto replayed = replay_load(server, requests, prompts, {});
    ASSERT_TRUE(replayed) << replayed.error().to_string();
    const ServingResult& result = replayed->result;
    EXPECT_TRUE(result.records[5].refused);
    for (std::size_t i = 0; i < 5; ++i) {
        const RequestRecord& record = result.records[i];
        EXPECT_GE(record.arrival, requests[i].arrival);
        EXPECT_GE(record.first_scheduled, record.arrival);
        EXPECT_GE(record.first_token, record.first_scheduled + Time::seconds(0.002));
        EXPECT_GE(record.last_token, record.first_token + Time::seconds(0.004));
        EXPECT_LE(record.last_token, result.end);
        EXPECT_EQ(replayed->outputs[i], (std::vector<std::int32_t>{3, 3, 3}));
    }
    EXPECT_EQ(result.token_gaps.size(), 10u);
    EXPECT_GE(result.instances.front().busy, Time::seconds(0.01));
}

}  // namespace
}  // namespace orrery
