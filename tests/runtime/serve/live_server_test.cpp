// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/live_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "runtime/serve/paged_decoder.h"
#include "runtime/serve/replay_load.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

ServedModel small_model() {
    Transformer model = tiny_llama();
    model.seq_length = 64;
    return *load_served_model(model, {}, 3);
}

struct Running {
    explicit Running(const SchedulerLimits& limits,
                     std::int64_t max_queue = 0,
                     std::size_t instances = 1)
        : served(small_model()), router(make_request_router("least_requests", 0)) {
        std::vector<DecodeStep*> steps;
        for (std::size_t i = 0; i < instances; ++i) {
            decoders.push_back(std::make_unique<PagedDecoder>(
                served, CacheShape{limits.num_blocks, limits.block_size}));
            steps.push_back(decoders.back().get());
        }
        server = std::make_unique<LiveServer>(*find_batching_rules("vllm_v1"),
                                              limits,
                                              LiveLimits{.context = 64, .max_queue = max_queue},
                                              steps,
                                              *router);
    }
    ServedModel served;
    std::unique_ptr<RequestRouter> router;
    std::vector<std::unique_ptr<PagedDecoder>> decoders;
    std::unique_ptr<LiveServer> server;
};

constexpr SchedulerLimits kRoomy{
    .max_num_batched_tokens = 32, .max_num_seqs = 8, .block_size = 4, .num_blocks = 200};

std::vector<Request> requests_of_lengths() {
    std::vector<Request> requests;
    for (std::int64_t i = 0; i < 12; ++i) {
        requests.push_back({.arrival = Time::seconds(0.001 * static_cast<double>(i)),
                            .prompt_tokens = 1 + i * 7 % 30,
                            .output_tokens = 1 + i * 5 % 20});
    }
    return requests;
}

std::vector<std::vector<std::int32_t>> outputs(const SchedulerLimits& limits,
                                               const ServingLoad& load,
                                               std::size_t instances = 1) {
    Running running{limits, 0, instances};
    const std::vector<Request> requests = requests_of_lengths();
    auto prompts = drawn_prompts(requests, 32, 1);
    prompts[11] = prompts[8];  // a prefix that the cache has
    prompts[11].resize(static_cast<std::size_t>(requests[11].prompt_tokens), 1);
    const auto replayed = replay_load(*running.server, requests, prompts, load);
    EXPECT_TRUE(replayed) << replayed.error().to_string();
    for (std::size_t i = 0; i < requests.size(); ++i) {
        EXPECT_TRUE(replayed->result.records[i].finished());
        EXPECT_EQ(std::ssize(replayed->outputs[i]), requests[i].output_tokens);
    }
    const LiveCounters counters = running.server->counters();
    EXPECT_EQ(counters.finished, 12);
    EXPECT_EQ(counters.free_blocks, counters.blocks);
    return replayed->outputs;
}

// Batches, chunks, preemptions, cached prefixes and the number of instances change no token.
TEST(LiveServer, GreedyTokensDoNotDependOnTheSchedule) {
    SchedulerLimits alone = kRoomy;
    alone.max_num_seqs = 1;
    alone.enable_prefix_caching = false;
    const auto expected = outputs(alone, {});
    EXPECT_EQ(outputs(kRoomy, {}), expected);
    EXPECT_EQ(outputs(kRoomy, {.users = 3}), expected);
    EXPECT_EQ(outputs(kRoomy, {}, 2), expected);
    SchedulerLimits tight = kRoomy;
    tight.num_blocks = 14;  // the longest request alone
    tight.max_num_batched_tokens = 5;
    EXPECT_EQ(outputs(tight, {}), expected);
}

TEST(LiveServer, CancelledRequestsFreeTheirBlocks) {
    Running running{kRoomy};
    std::vector<Ticket> tickets;
    for (int i = 0; i < 20; ++i) {
        const Submitted sent = running.server->submit(
            {.prompt = {1, 2, 3, 4, 5}, .output_tokens = 50}, [](const TokenEvent&) {});
        ASSERT_EQ(sent.refusal, Refusal::none);
        tickets.push_back(sent.ticket);
    }
    for (const Ticket ticket : tickets) {
        running.server->cancel(ticket);
        running.server->cancel(ticket);  // nothing more happens
    }
    running.server->wait_until_idle();
    const LiveCounters counters = running.server->counters();
    EXPECT_EQ(counters.finished + counters.cancelled, 20);
    EXPECT_GT(counters.cancelled, 0);
    EXPECT_EQ(counters.free_blocks, counters.blocks);
    EXPECT_EQ(counters.waiting + counters.running, 0);
}

TEST(LiveServer, RefusesWhatNeverFitsAndWhatIsTooMuch) {
    Running running{kRoomy, 2};
    const auto submit = [&](std::size_t prompt, std::int64_t output) {
        return running.server
            ->submit({.prompt = std::vector<std::int32_t>(prompt, 1), .output_tokens = output},
                     [](const TokenEvent&) {})
            .refusal;
    };
    EXPECT_EQ(submit(60, 5), Refusal::too_long);
    EXPECT_EQ(submit(60, std::numeric_limits<std::int64_t>::max()), Refusal::too_long);
    std::set<Refusal> seen;
    for (int i = 0; i < 5; ++i) {
        seen.insert(submit(10, 50));
    }
    EXPECT_TRUE(seen.contains(Refusal::queue_full));
    running.server->refuse_more();
    EXPECT_EQ(submit(1, 1), Refusal::stopped);
    running.server->stop();
}

class FailingStep : public DecodeStep {
public:
    Result<void> run(std::span<const DecodeChunk>, std::vector<float>&) override {
        return fail("rank 1", "has died");
    }
};

TEST(LiveServer, AFailedStepEndsTheWait) {
    FailingStep step;
    const auto router = make_request_router("round_robin", 0);
    LiveServer server{*find_batching_rules("vllm_v1"), kRoomy, {.context = 64}, {&step}, *router};
    const std::vector<Request> requests = requests_of_lengths();
    const auto replayed = replay_load(server, requests, drawn_prompts(requests, 32, 1), {});
    ASSERT_FALSE(replayed);
    EXPECT_EQ(replayed.error().what, "has died");
}

}  // namespace
}  // namespace orrery
