// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/preempted_blocks.h"

#include <gtest/gtest.h>

#include <numeric>

#include "engine/serving/batch_scheduler.h"

namespace orrery {
namespace {

constexpr RequestId kFirst{0};
constexpr RequestId kSecond{1};

// Two prompts of 8 tokens in a cache of 8 blocks of 4. In the tenth step both hold 16 tokens, and
// the first needs a block: the second gives way. The first one's last steps take one block of it.
std::vector<Request> requests() {
    return {{.prompt_tokens = 8, .output_tokens = 13}, {.prompt_tokens = 8, .output_tokens = 11}};
}

struct Steps {
    std::vector<std::int64_t> of_second;  // its tokens in each step
    std::int64_t preemptions = 0;
};

Steps steps_of(const char* rules, bool caches, const std::vector<Request>& load) {
    BatchScheduler scheduler(*find_batching_rules(rules),
                             {.max_num_batched_tokens = 32,
                              .block_size = 4,
                              .num_blocks = 8,
                              .enable_prefix_caching = caches},
                             load);
    scheduler.submit(kFirst);
    scheduler.submit(kSecond);
    Steps steps;
    std::vector<Sampled> sampled;
    for (Batch batch = scheduler.next(); !batch.steps.empty(); batch = scheduler.next()) {
        steps.of_second.push_back(0);
        for (const SequenceStep& step : batch.steps) {
            steps.of_second.back() += step.request == kSecond ? step.new_tokens : 0;
        }
        steps.preemptions += std::ssize(batch.preempted);
        scheduler.complete(batch, sampled);
    }
    EXPECT_TRUE(scheduler.is_idle());
    EXPECT_EQ(scheduler.pool().num_free(), 8);
    EXPECT_EQ(std::ssize(sampled), load[0].output_tokens + load[1].output_tokens);
    return steps;
}

// It has 17 tokens when it begins again, in the fourteenth step.
std::int64_t computed_again(const char* rules, bool caches) {
    const Steps steps = steps_of(rules, caches, requests());
    EXPECT_EQ(steps.preemptions, 1) << rules;
    EXPECT_EQ(std::accumulate(&steps.of_second[9], &steps.of_second[13], 0), 0) << rules;
    return steps.of_second.at(13);
}

TEST(PreemptedBlocks, APreemptedSequenceFindsWhatTheOthersLeft) {
    EXPECT_EQ(computed_again("vllm_v1", true), 17 - 3 * 4);
    EXPECT_EQ(computed_again("sglang", true), 17 - 2 * 4);  // those of its prompt
}

TEST(PreemptedBlocks, WithoutAPrefixCacheItComputesAllAgain) {
    EXPECT_EQ(computed_again("vllm_v1", false), 17);
    EXPECT_EQ(computed_again("sglang", false), 17);
    EXPECT_EQ(computed_again("vllm_v0", true), 17);  // its default is no prefix cache
}

// Blocks whose hashes the load knows stay findable under them, and the others under their own.
TEST(PreemptedBlocks, KnownHashesComeBeforeItsOwn) {
    std::vector<Request> load = requests();
    load[1].prefix_hashes = {1001};
    const Steps steps = steps_of("vllm_v1", true, load);
    EXPECT_EQ(steps.preemptions, 1);
    EXPECT_EQ(steps.of_second.at(13), 17 - 3 * 4);
}

TEST(PreemptedBlocks, HashesOfARequestAreItsOwn) {
    const Request known{.prompt_tokens = 8, .prefix_hashes = {7, 8}};
    EXPECT_EQ(preempted_hashes(kFirst, known, 1), (std::vector<std::uint64_t>{7}));
    const auto first = preempted_hashes(kFirst, known, 4);
    const auto second = preempted_hashes(kSecond, known, 4);
    ASSERT_EQ(first.size(), 4U);
    EXPECT_EQ(first[1], second[1]);
    EXPECT_NE(first[2], second[2]);
    EXPECT_NE(first[2], first[3]);
    EXPECT_TRUE(preempted_hashes(kFirst, {}, 0).empty());
}

// A real server reuses ids: the blocks of an ended request must not be found by a later one.
TEST(PreemptedBlocks, HashesOfALaterRequestWithTheSameIdDiffer) {
    const Request ended{.arrival = Time::seconds(1), .prompt_tokens = 8, .prefix_hashes = {7, 8}};
    Request later = ended;
    EXPECT_EQ(preempted_hashes(kFirst, ended, 4), preempted_hashes(kFirst, later, 4));
    later.arrival = Time::seconds(2);
    EXPECT_EQ(preempted_hashes(kFirst, ended, 2), preempted_hashes(kFirst, later, 2));
    EXPECT_NE(preempted_hashes(kFirst, ended, 4)[2], preempted_hashes(kFirst, later, 4)[2]);
}

// A step of a prompt that gives way in the same step was not computed.
TEST(PreemptedBlocks, TokensOfTheStepThatIsTakenBackAreNotKept) {
    const std::vector<Request> load{{.prompt_tokens = 4, .output_tokens = 8},
                                    {.prompt_tokens = 12, .output_tokens = 2}};
    BatchScheduler scheduler(*find_batching_rules("vllm_v1"),
                             {.max_num_batched_tokens = 5, .block_size = 4, .num_blocks = 4},
                             load);
    scheduler.submit(kFirst);
    scheduler.submit(kSecond);
    std::vector<Sampled> sampled;
    std::int64_t second = 0;
    std::int64_t computed = 0;
    for (Batch batch = scheduler.next(); !batch.steps.empty(); batch = scheduler.next()) {
        for (const SequenceStep& step : batch.steps) {
            second += step.request == kSecond ? step.new_tokens : 0;
            computed = step.request == kSecond ? step.context : computed;
        }
        scheduler.complete(batch, sampled);
    }
    EXPECT_EQ(std::ssize(sampled), 10);
    EXPECT_EQ(computed, 12);
    EXPECT_GE(second, 13);
}

}  // namespace
}  // namespace orrery
