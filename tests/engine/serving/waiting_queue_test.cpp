// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "engine/serving/batch_scheduler.h"
#include "tests/engine/serving/serving_stand_ins.h"

namespace orrery {
namespace {

Request queued(std::int64_t prompt, std::int64_t outputs) {
    return {.prompt_tokens = prompt, .output_tokens = outputs};
}

// "A2 B1": two tokens of the first request, one of the second.
std::string step_text(const Batch& batch) {
    std::string text;
    for (const SequenceStep& step : batch.steps) {
        text += (text.empty() ? "" : " ") +
                std::string(1, static_cast<char>('A' + static_cast<int>(step.request))) +
                std::to_string(step.new_tokens);
    }
    return text;
}

// Prompts wait until two can begin together, unless nothing runs.
TEST(WaitingQueue, PromptsBeginTogether) {
    const std::vector<Request> requests(4, queued(2, 5));
    BatchScheduler scheduler(
        *find_batching_rules("vllm_v0"), {.num_blocks = 100, .prompts_together = 2}, requests);
    std::vector<Sampled> sampled;
    const auto step = [&] {
        const Batch batch = scheduler.next();
        scheduler.complete(batch, sampled);
        return step_text(batch);
    };
    scheduler.submit(RequestId{0});
    EXPECT_EQ(step(), "A2");
    scheduler.submit(RequestId{1});
    EXPECT_EQ(step(), "A1");
    scheduler.submit(RequestId{2});
    EXPECT_EQ(step(), "B2 C2");
}

// Too few prompts wait at every second check of the queue, also if no prompt waits at the first.
TEST(WaitingQueue, TooFewPromptsWaitOnce) {
    const std::vector<Request> requests(4, queued(2, 9));
    BatchScheduler scheduler(*find_batching_rules("vllm_v0"),
                             {.num_blocks = 100, .prompt_wait_steps = 1, .prompts_together = 3},
                             requests);
    std::vector<Sampled> sampled;
    std::vector<std::string> steps;
    for (std::uint32_t i = 0; i < 4; ++i) {
        scheduler.submit(RequestId{i});
        for (int step = 0; step < (i == 1 ? 3 : 1); ++step) {
            const Batch batch = scheduler.next();
            scheduler.complete(batch, sampled);
            steps.push_back(step_text(batch));
        }
    }
    EXPECT_EQ(steps, (std::vector<std::string>{"A2", "A1", "B2", "A1 B1", "C2", "A1 B1 C1"}));
}

// The shortest predicted output begins first, whatever the true one.
TEST(WaitingQueue, PredictedLengthsOrderTheQueue) {
    std::vector<Request> requests(3, queued(2, 3));
    requests[1].predicted_tokens = 9;
    requests[2].predicted_tokens = 2;
    BatchScheduler scheduler(
        *find_batching_rules("vllm_v1"),
        {.max_num_seqs = 1, .num_blocks = 100, .order = QueueOrder::predicted_length},
        requests);
    std::vector<Sampled> sampled;
    std::vector<std::string> begun;
    for (std::uint32_t i = 0; i < 3; ++i) {
        scheduler.submit(RequestId{i});
    }
    for (int i = 0; i < 9; ++i) {
        const Batch batch = scheduler.next();
        if (!batch.admitted.empty()) {
            begun.push_back(step_text(batch));
        }
        scheduler.complete(batch, sampled);
    }
    EXPECT_EQ(begun, (std::vector<std::string>{"C2", "A2", "B2"}));
}

TEST(WaitingQueue, PromptsWaitForAShareOfTheCache) {
    const std::vector<Request> requests{queued(16, 4), queued(16, 4)};
    BatchScheduler scheduler(*find_batching_rules("vllm_v0"),
                             {.block_size = 4, .num_blocks = 10, .prompt_free_share = 0.7},
                             requests);
    std::vector<Sampled> sampled;
    std::vector<std::string> steps;
    scheduler.submit(RequestId{0});
    for (int i = 0; i < 5; ++i) {
        const Batch batch = scheduler.next();
        scheduler.complete(batch, sampled);
        steps.push_back(step_text(batch));
        if (i == 0) {
            scheduler.submit(RequestId{1});
        }
    }
    // There is room for the second prompt at once, but it begins when the first one has ended.
    EXPECT_EQ(steps, (std::vector<std::string>{"A16", "A1", "A1", "A1", "B16"}));
}

// Two whole blocks of four tokens are found, and the last token of a prompt is always computed.
TEST(WaitingQueue, APromptOfAnEarlierRunIsFound) {
    Request request = queued(9, 3);
    request.prefix_hashes = {11, 12};
    const std::vector<Request> requests{request};
    const auto first_step = [&](bool caches) {
        BatchScheduler scheduler(
            *find_batching_rules("sglang"),
            {.block_size = 4, .num_blocks = 6, .enable_prefix_caching = caches},
            requests);
        scheduler.remember(request);
        EXPECT_EQ(scheduler.pool().num_free(), 6);
        scheduler.submit(RequestId{0});
        return step_text(scheduler.next());
    };
    EXPECT_EQ(first_step(true), "A1");
    EXPECT_EQ(first_step(false), "A9");
}

// A cache of four blocks holds a prompt of two blocks and its output, and then the next one.
TEST(WaitingQueue, TheLastPromptsOfAnEarlierRunStay) {
    std::vector<Request> requests(3, queued(9, 4));
    for (std::uint64_t i = 0; i < requests.size(); ++i) {
        requests[i].prefix_hashes = {2 * i, 2 * i + 1};
    }
    BatchScheduler scheduler(
        *find_batching_rules("sglang"), {.block_size = 4, .num_blocks = 4}, requests);
    for (const Request& request : requests) {
        scheduler.remember(request);
    }
    EXPECT_EQ(scheduler.prefix_tokens(requests[0]), 0);
    EXPECT_EQ(scheduler.prefix_tokens(requests[2]), 8);
    scheduler.remember(requests[2]);  // a second run finds its blocks
    EXPECT_EQ(scheduler.prefix_tokens(requests[2]), 8);
}

// An earlier run sent its requests to the instances in turn, as this one does.
TEST(WaitingQueue, EachInstanceKnowsItsPromptsOfAnEarlierRun) {
    std::vector<Request> requests(4, queued(33, 1));
    for (std::uint64_t i = 0; i < 3; ++i) {
        requests[i].prefix_hashes = {2 * i, 2 * i + 1};
        requests[i].repeated = i != 1;
    }
    LinearCost cost(Time::seconds(1), {});
    const ServingResult result =
        serve(requests, {}, pool_of(cost, 8, 2), *make_request_router("round_robin", 1));
    // The first two repeated requests were on the first and on the second instance.
    EXPECT_EQ(result.records[0].cached_tokens, 32);
    EXPECT_EQ(result.records[1].cached_tokens, 0);
    EXPECT_EQ(result.records[2].cached_tokens, 0);
    EXPECT_EQ(result.records[3].cached_tokens, 0);
}

}  // namespace
}  // namespace orrery
