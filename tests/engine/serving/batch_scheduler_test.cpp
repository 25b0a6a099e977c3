// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/batch_scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/base/counter_random.h"

namespace orrery {
namespace {

Request request(std::int64_t prompt, std::int64_t outputs) {
    return {.prompt_tokens = prompt, .output_tokens = outputs};
}

std::string text_of(const Batch& batch) {
    std::string text;
    for (const SequenceStep& step : batch.steps) {
        text += (text.empty() ? "" : " ") +
                std::string(1, static_cast<char>('A' + static_cast<int>(step.request))) +
                std::to_string(step.new_tokens);
    }
    for (const RequestId id : batch.preempted) {
        text += " -" + std::string(1, static_cast<char>('A' + static_cast<int>(id)));
    }
    return text;
}

// The steps of a scheduler whose requests all come first: "tokens computed; blocks free".
std::vector<std::string> steps_of(BatchScheduler& scheduler, std::size_t num_requests) {
    for (std::size_t i = 0; i < num_requests; ++i) {
        scheduler.submit(static_cast<RequestId>(i));
    }
    std::vector<std::string> steps;
    std::vector<Sampled> sampled;
    for (Batch batch = scheduler.next(); !batch.steps.empty(); batch = scheduler.next()) {
        scheduler.complete(batch, sampled);
        steps.push_back(text_of(batch) + "; " + std::to_string(scheduler.pool().num_free()));
    }
    return steps;
}

// By hand from vllm/v1/core/sched/scheduler.py.
TEST(BatchScheduler, VllmV1PreemptsTheLastAndComputesItAgain) {
    const std::vector<Request> requests{request(10, 6), request(6, 8), request(7, 4)};
    BatchScheduler scheduler(
        *find_batching_rules("vllm_v1"),
        {.max_num_batched_tokens = 8, .max_num_seqs = 3, .block_size = 4, .num_blocks = 7},
        requests);
    EXPECT_EQ(steps_of(scheduler, requests.size()),
              (std::vector<std::string>{"A8; 5",
                                        "A2 B6; 2",
                                        "A1 B1 C6; 0",
                                        "A1 B1 C1; 0",
                                        "A1 B1 -C; 0",
                                        "A1 B1; 0",
                                        "A1 B1; 4",
                                        "B1 C7; 2",
                                        "B1 C1; 5",
                                        "C1; 4",
                                        "C1; 7"}));
}

// The first step of a prompt encodes its images, also when the prompt is computed again.
TEST(BatchScheduler, ImagesAreEncodedInTheFirstStepOfTheirPrompt) {
    std::vector<Request> requests{request(10, 6), request(6, 8), request(7, 4)};
    requests[0].images = 2;
    requests[2].images = 3;
    BatchScheduler scheduler(
        *find_batching_rules("vllm_v1"),
        {.max_num_batched_tokens = 8, .max_num_seqs = 3, .block_size = 4, .num_blocks = 7},
        requests);
    for (int i = 0; i < 3; ++i) {
        scheduler.submit(static_cast<RequestId>(i));
    }
    std::vector<std::int32_t> images;
    std::vector<Sampled> sampled;
    for (Batch batch = scheduler.next(); !batch.steps.empty(); batch = scheduler.next()) {
        std::int32_t sum = 0;
        for (const SequenceStep& step : batch.steps) {
            sum += step.images;
        }
        images.push_back(sum);
        scheduler.complete(batch, sampled);
    }
    // As the steps of the test above: C is preempted, and begins again in the eighth step.
    EXPECT_EQ(images, (std::vector<std::int32_t>{2, 0, 3, 0, 0, 0, 0, 3, 0, 0, 0}));
}

TEST(BatchScheduler, VllmV1ChunksAPromptBesideSequencesThatGenerate) {
    std::vector<Request> requests(100, request(1, 10));
    requests.push_back(request(5000, 2));
    BatchScheduler scheduler(
        *find_batching_rules("vllm_v1"),
        {.max_num_batched_tokens = 2048, .max_num_seqs = 1024, .num_blocks = 1000},
        requests);
    std::vector<Sampled> sampled;
    for (std::size_t i = 0; i < 100; ++i) {
        scheduler.submit(static_cast<RequestId>(i));
    }
    scheduler.complete(scheduler.next(), sampled);
    scheduler.submit(static_cast<RequestId>(100));
    for (const std::int64_t chunk : {1948, 1948, 1104}) {
        const Batch batch = scheduler.next();
        EXPECT_EQ(batch.steps.size(), 101U);
        EXPECT_EQ(batch.steps.back().new_tokens, chunk);
        scheduler.complete(batch, sampled);
    }
}

TEST(BatchScheduler, VllmV0RunsPromptsInStepsOfTheirOwn) {
    const std::vector<Request> requests{request(10, 3), request(6, 2)};
    BatchScheduler scheduler(*find_batching_rules("vllm_v0"),
                             {.max_num_batched_tokens = 12, .block_size = 4, .num_blocks = 100},
                             requests);
    EXPECT_EQ(steps_of(scheduler, requests.size()),
              (std::vector<std::string>{"A10; 97", "B6; 95", "A1 B1; 97", "A1; 100"}));
}

// The rest of B comes before C, and no sequence generates beside it.
TEST(BatchScheduler, SglangGoesOnWithAPromptBeforeItAdmitsOthers) {
    const std::vector<Request> requests{request(10, 2), request(10, 2), request(4, 2)};
    BatchScheduler scheduler(*find_batching_rules("sglang"),
                             {.max_num_batched_tokens = 12, .block_size = 4, .num_blocks = 100},
                             requests);
    EXPECT_EQ(steps_of(scheduler, requests.size()),
              (std::vector<std::string>{"A10 B2; 96", "B8 C4; 93", "A1 B1 C1; 100"}));
}

TEST(BatchScheduler, SarathiGivesTokensToSequencesThatGenerateFirst) {
    const std::vector<Request> requests{request(10, 3), request(3, 4)};
    BatchScheduler scheduler(*find_batching_rules("sarathi"),
                             {.max_num_batched_tokens = 6, .block_size = 4, .num_blocks = 100},
                             requests);
    EXPECT_EQ(steps_of(scheduler, requests.size()),
              (std::vector<std::string>{
                  "A6; 97", "A4 B2; 96", "A1 B1; 96", "A1 B1; 99", "B1; 98", "B1; 100"}));
}

TEST(BatchScheduler, ReservationsForTheLongestOutputAreNeverPreempted) {
    const std::vector<Request> requests{request(4, 9), request(4, 9)};
    for (const char* name : {"orca", "tensorrt_llm", "static"}) {
        BatchScheduler scheduler(*find_batching_rules(name),
                                 {.max_num_batched_tokens = 64, .block_size = 4, .num_blocks = 5},
                                 requests);
        const std::vector<std::string> steps = steps_of(scheduler, requests.size());
        // One after the other: 12 tokens of each need 3 of the 5 blocks.
        ASSERT_EQ(steps.size(), 18U) << name;
        EXPECT_EQ(steps.front(), "A4; 2") << name;
        EXPECT_EQ(steps.back(), "B1; 5") << name;
    }
}

TEST(BatchScheduler, MaximumUtilizationReservesNoOutputs) {
    const std::vector<Request> requests{request(4, 9), request(4, 9)};
    BatchScheduler scheduler(*find_batching_rules("tensorrt_llm_max_utilization"),
                             {.max_num_batched_tokens = 64, .block_size = 4, .num_blocks = 5},
                             requests);
    const std::vector<std::string> steps = steps_of(scheduler, requests.size());
    EXPECT_EQ(steps.front(), "A4 B4; 3");
    EXPECT_EQ(steps.at(5), "A1 -B; 2");  // the sixth block of both is not there
}

// The next step is chosen while one runs: B, which comes meanwhile, waits for the one after it.
TEST(BatchScheduler, ARequestWaitsForTheStepThatIsPlannedAlready) {
    const std::vector<Request> requests{request(2, 9), request(2, 9), request(2, 9)};
    BatchScheduler scheduler(
        *find_batching_rules("vllm_v1"), {.num_blocks = 100, .plans_ahead = true}, requests);
    std::vector<Sampled> sampled;
    const auto step = [&] {
        const Batch batch = scheduler.next();
        scheduler.complete(batch, sampled);
        return text_of(batch);
    };
    scheduler.submit(RequestId{0});
    EXPECT_EQ(step(), "A2");  // nothing ran when it came
    scheduler.submit(RequestId{1});
    EXPECT_EQ(step(), "A1");
    scheduler.submit(RequestId{2});
    scheduler.cancel(RequestId{2});
    EXPECT_EQ(step(), "A1 B2");
    scheduler.submit(RequestId{2});
    scheduler.cancel(RequestId{0});
    scheduler.cancel(RequestId{1});
    EXPECT_EQ(step(), "C2");  // nothing else runs
}

TEST(BatchScheduler, TheQueueIsSeenAfterSeveralSteps) {
    const std::vector<Request> requests{request(2, 9), request(2, 9)};
    BatchScheduler scheduler(
        *find_batching_rules("vllm_v0"), {.num_blocks = 100, .num_scheduler_steps = 3}, requests);
    std::vector<Sampled> sampled;
    std::vector<std::string> steps;
    scheduler.submit(RequestId{0});
    for (int i = 0; i < 6; ++i) {
        const Batch batch = scheduler.next();
        scheduler.complete(batch, sampled);
        steps.push_back(text_of(batch));
        if (i == 1) {
            scheduler.submit(RequestId{1});
        }
    }
    EXPECT_EQ(steps, (std::vector<std::string>{"A2", "A1", "A1", "A1", "B2", "A1 B1"}));
}

// Two micro-batches of two sequences, which a pipeline of two stages holds at once.
TEST(BatchScheduler, MicroBatchesHaveTheirSequencesEach) {
    const std::vector<Request> requests(5, request(2, 3));
    BatchScheduler scheduler(*find_batching_rules("tensorrt_llm"),
                             {.max_num_seqs = 2, .num_blocks = 100, .micro_batches = 2},
                             requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        scheduler.submit(static_cast<RequestId>(i));
    }
    const Batch first = scheduler.next();
    const Batch second = scheduler.next();
    EXPECT_EQ(text_of(first), "A2 B2");
    EXPECT_EQ(text_of(second), "C2 D2");
    EXPECT_TRUE(scheduler.next().steps.empty());
    std::vector<Sampled> sampled;
    scheduler.complete(first, sampled);
    EXPECT_EQ(text_of(scheduler.next()), "A1 B1");
}

// Of two data-parallel ranks one has a prompt: it waits for another one, or for three steps.
TEST(BatchScheduler, PromptsOfDataParallelRanksBeginTogether) {
    const std::vector<Request> requests(4, request(2, 20));
    BatchScheduler scheduler(*find_batching_rules("tensorrt_llm"),
                             {.num_blocks = 100, .balanced_ranks = 2, .prompt_wait_steps = 3},
                             requests);
    std::vector<Sampled> sampled;
    std::vector<std::string> steps;
    scheduler.submit(RequestId{0});
    for (int i = 0; i < 7; ++i) {
        const Batch batch = scheduler.next();
        scheduler.complete(batch, sampled);
        steps.push_back(text_of(batch));
        if (i == 0) {
            scheduler.submit(RequestId{1});
        }
        if (i == 5) {
            scheduler.submit(RequestId{2});
            scheduler.submit(RequestId{3});
        }
    }
    EXPECT_EQ(steps,
              (std::vector<std::string>{"A2", "A1", "A1", "A1", "A1 B2", "A1 B1", "A1 B1 C2 D2"}));
}

TEST(BatchScheduler, PromptsOfOneRankDoNotWait) {
    const std::vector<Request> requests(2, request(2, 20));
    BatchScheduler scheduler(
        *find_batching_rules("tensorrt_llm"),
        {.num_blocks = 100, .prompt_batching_steps = 3, .prompt_wait_steps = 9},
        requests);
    std::vector<Sampled> sampled;
    scheduler.submit(RequestId{0});
    scheduler.complete(scheduler.next(), sampled);
    scheduler.submit(RequestId{1});
    EXPECT_EQ(text_of(scheduler.next()), "A1 B2");
}

TEST(BatchScheduler, PromptsOfAllRanksWaitForMore) {
    const std::vector<Request> requests(3, request(2, 20));
    BatchScheduler scheduler(*find_batching_rules("tensorrt_llm"),
                             {.num_blocks = 100,
                              .balanced_ranks = 2,
                              .prompt_batching_steps = 2,
                              .prompt_wait_steps = 9},
                             requests);
    std::vector<Sampled> sampled;
    std::vector<std::string> steps;
    scheduler.submit(RequestId{0});
    for (int i = 0; i < 4; ++i) {
        const Batch batch = scheduler.next();
        scheduler.complete(batch, sampled);
        steps.push_back(text_of(batch));
        if (i == 0) {
            scheduler.submit(RequestId{1});
            scheduler.submit(RequestId{2});
        }
    }
    EXPECT_EQ(steps, (std::vector<std::string>{"A2", "A1", "A1", "A1 B2 C2"}));
}

TEST(BatchScheduler, AStaticBatchWaitsForItsLastMember) {
    const std::vector<Request> requests{request(1, 3), request(1, 1), request(1, 1)};
    BatchScheduler scheduler(*find_batching_rules("static"),
                             {.max_num_seqs = 2, .block_size = 4, .num_blocks = 9},
                             requests);
    EXPECT_EQ(steps_of(scheduler, requests.size()),
              (std::vector<std::string>{"A1 B1; 8", "A1; 8", "A1; 9", "C1; 9"}));
}

TEST(BatchScheduler, APrefixIsComputedOnceAndItsLastTokenAgain) {
    std::vector<Request> requests{request(8, 2), request(8, 2), request(12, 2)};
    requests[0].prefix_hashes = {11, 12};
    requests[1].prefix_hashes = {11, 12};
    requests[2].prefix_hashes = {11, 12, 13};
    BatchScheduler scheduler(
        *find_batching_rules("vllm_v1"), {.block_size = 4, .num_blocks = 20}, requests);
    std::vector<Sampled> sampled;
    scheduler.submit(static_cast<RequestId>(0));
    scheduler.complete(scheduler.next(), sampled);
    scheduler.submit(static_cast<RequestId>(1));
    scheduler.submit(static_cast<RequestId>(2));
    // B finds 8 tokens and may use 4 of them: the last one must be computed. C uses 8.
    EXPECT_EQ(text_of(scheduler.next()), "A1 B4 C4");
    EXPECT_EQ(scheduler.cached_tokens(static_cast<RequestId>(1)), 4);
    EXPECT_EQ(scheduler.cached_tokens(static_cast<RequestId>(2)), 8);
}

TEST(BatchScheduler, ARequestThatCanNeverRunDoesNotFit) {
    const std::vector<Request> none;
    const SchedulerLimits limits{.max_num_batched_tokens = 16, .block_size = 4, .num_blocks = 100};
    const BatchScheduler v1(*find_batching_rules("vllm_v1"), limits, none);
    EXPECT_TRUE(v1.fits(request(400, 1)));
    EXPECT_FALSE(v1.fits(request(400, 2)));
    const BatchScheduler orca(*find_batching_rules("orca"), limits, none);
    EXPECT_TRUE(orca.fits(request(16, 10)));
    EXPECT_FALSE(orca.fits(request(17, 10)));
}

TEST(BatchScheduler, ACancelledRequestLeavesNothingBehind) {
    const std::vector<Request> requests{request(10, 6), request(6, 8), request(7, 4)};
    BatchScheduler scheduler(
        *find_batching_rules("vllm_v1"), {.max_num_seqs = 2, .num_blocks = 10}, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
        scheduler.submit(static_cast<RequestId>(i));
    }
    const Batch batch = scheduler.next();
    scheduler.cancel(static_cast<RequestId>(0));
    scheduler.cancel(static_cast<RequestId>(2));
    std::vector<Sampled> sampled;
    scheduler.complete(batch, sampled);
    ASSERT_EQ(sampled.size(), 1U);
    EXPECT_EQ(sampled.front().request, static_cast<RequestId>(1));
    scheduler.cancel(static_cast<RequestId>(1));
    EXPECT_EQ(scheduler.pool().num_free(), 10);
    EXPECT_EQ(scheduler.pending_tokens(), 0);
    EXPECT_TRUE(scheduler.next().steps.empty());
}

// scheduled tokens = prompts - cached + outputs - requests + recomputed
TEST(BatchScheduler, TokensAreConserved) {
    for (const BatchingRules& rules : batching_rules()) {
        CounterRandom random(7, 0, 1);
        std::vector<Request> requests;
        std::int64_t expected = 0;
        for (std::size_t i = 0; i < 200; ++i) {
            requests.push_back(request(1 + static_cast<std::int64_t>(random.next() % 60),
                                       1 + static_cast<std::int64_t>(random.next() % 40)));
            for (std::int64_t full = 4; full <= requests.back().prompt_tokens; full += 4) {
                requests.back().prefix_hashes.push_back(static_cast<std::uint64_t>(full) +
                                                        1000 * (i % 7));
            }
            expected += requests.back().prompt_tokens + requests.back().output_tokens - 1;
        }
        BatchScheduler scheduler(
            rules,
            {.max_num_batched_tokens = 64, .max_num_seqs = 16, .block_size = 4, .num_blocks = 60},
            requests);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            scheduler.submit(static_cast<RequestId>(i));
        }
        std::int64_t scheduled = 0;
        std::map<RequestId, std::int64_t> computed;
        std::vector<Sampled> sampled;
        for (Batch batch = scheduler.next(); !batch.steps.empty(); batch = scheduler.next()) {
            for (const RequestId id : batch.preempted) {
                expected += computed[id];
            }
            for (const RequestId id : batch.admitted) {
                expected -= scheduler.cached_tokens(id);
                computed[id] = scheduler.cached_tokens(id);
            }
            for (const SequenceStep& step : batch.steps) {
                EXPECT_EQ(step.context, computed[step.request]);
                scheduled += step.new_tokens;
                computed[step.request] += step.new_tokens;
            }
            scheduler.complete(batch, sampled);
        }
        EXPECT_EQ(scheduled, expected) << rules.name;
        EXPECT_EQ(scheduler.num_running() + scheduler.num_waiting(), 0) << rules.name;
        EXPECT_EQ(scheduler.pool().num_free(), 60) << rules.name;
        EXPECT_EQ(scheduler.pending_tokens(), 0) << rules.name;
    }
}

// Requests for A's adapter join it; what is behind one for another adapter waits, too.
TEST(BatchScheduler, AdaptersShareAStepOrFollowOneAnother) {
    std::vector<Request> requests(4, request(2, 2));
    requests[0].adapter = requests[1].adapter = requests[3].adapter = 5;
    requests[2].adapter = 6;
    SchedulerLimits limits{.max_num_batched_tokens = 100, .block_size = 4, .num_blocks = 100};
    BatchScheduler together(*find_batching_rules("vllm_v1"), limits, requests);
    EXPECT_EQ(steps_of(together, 4),
              (std::vector<std::string>{"A2 B2 C2 D2; 96", "A1 B1 C1 D1; 100"}));
    limits.mixes_adapters = false;
    BatchScheduler apart(*find_batching_rules("vllm_v1"), limits, requests);
    EXPECT_EQ(steps_of(apart, 4),
              (std::vector<std::string>{
                  "A2 B2; 98", "A1 B1; 100", "C2; 99", "C1; 100", "D2; 99", "D1; 100"}));
}

}  // namespace
}  // namespace orrery
