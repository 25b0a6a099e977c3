// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/live_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

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
    explicit Running(const SchedulerLimits& limits, std::size_t instances = 1)
        : served(small_model()), router(make_request_router("least_requests", 0)) {
        std::vector<DecodeStep*> steps;
        for (std::size_t i = 0; i < instances; ++i) {
            decoders.push_back(std::make_unique<PagedDecoder>(
                served, CacheShape{limits.num_blocks, limits.block_size}));
            steps.push_back(decoders.back().get());
        }
        server = std::make_unique<LiveServer>(
            *find_batching_rules("vllm_v1"), limits, LiveLimits{.context = 64}, steps, *router);
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
    Running running{limits, instances};
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

// Caches of instances in this process, by their numbers: a move is a copy.
class NeighbourStep final : public DecodeStep {
public:
    NeighbourStep(const ServedModel& served, const CacheShape& cache) : decoder_(served, cache) {}
    void meet(std::vector<NeighbourStep*> all, std::size_t number) {
        all_ = std::move(all);
        number_ = number;
    }
    Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) override {
        return decoder_.run(chunks, logits);
    }
    Result<void> send_cache(const CacheMove& move) override {
        const std::scoped_lock lock{all_[move.other]->mutex_};
        all_[move.other]->sent_[number_].push_back(decoder_.read_cache(move.blocks, move.tokens));
        return {};
    }
    Result<void> receive_cache(const CacheMove& move) override {
        const std::scoped_lock lock{mutex_};
        auto& queue = sent_[move.other];
        EXPECT_FALSE(queue.empty());  // sent before it is to be received
        if (!move.blocks.empty()) {
            decoder_.write_cache(move.blocks, move.tokens, queue.front());
        }
        queue.pop_front();
        return {};
    }

private:
    PagedDecoder decoder_;
    std::vector<NeighbourStep*> all_;
    std::size_t number_ = 0;
    std::mutex mutex_;
    std::map<std::size_t, std::deque<std::vector<float>>> sent_;  // by sender
};

struct SplitServer {
    SplitServer(const SchedulerLimits& prompts, const SchedulerLimits& rest)
        : served(small_model()) {
        std::vector<NeighbourStep*> all;
        for (const SchedulerLimits* limits : {&prompts, &rest, &rest}) {
            steps.push_back(std::make_unique<NeighbourStep>(
                served, CacheShape{limits->num_blocks, limits->block_size}));
            all.push_back(steps.back().get());
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i]->meet(all, i);
        }
        const BatchingRules& rules = *find_batching_rules("vllm_v1");
        server = std::make_unique<LiveServer>(
            std::vector<LivePool>{{rules, prompts, {all[0]}, routers[0].get()},
                                  {rules, rest, {all[1], all[2]}, routers[1].get()}},
            LiveLimits{.context = 64});
    }
    ServedModel served;
    std::array<std::unique_ptr<RequestRouter>, 2> routers{make_request_router("round_robin", 0),
                                                          make_request_router("least_tokens", 0)};
    std::vector<std::unique_ptr<NeighbourStep>> steps;
    std::unique_ptr<LiveServer> server;
};

// Also where prompts wait for blocks of the second pool, and where it preempts and recomputes.
TEST(LiveServer, PromptsAndTheRestOnInstancesOfTheirOwn) {
    const auto expected = outputs(kRoomy, {});
    SchedulerLimits tight = kRoomy;
    tight.num_blocks = 14;
    for (const SchedulerLimits& rest : {kRoomy, tight}) {
        for (int round = 0; round < 5; ++round) {
            SplitServer split{tight, rest};
            const std::vector<Request> requests = requests_of_lengths();
            auto prompts = drawn_prompts(requests, 32, 1);
            prompts[11] = prompts[8];
            prompts[11].resize(static_cast<std::size_t>(requests[11].prompt_tokens), 1);
            const auto replayed = replay_load(*split.server, requests, prompts, {.users = 12});
            ASSERT_TRUE(replayed);
            EXPECT_EQ(replayed->outputs, expected);
            split.server->wait_until_idle();
            const LiveCounters counters = split.server->counters();
            EXPECT_EQ(counters.finished, 12);
            EXPECT_EQ(counters.free_blocks, counters.blocks);
            // All but the requests of a single token.
            EXPECT_EQ(counters.moves, std::ranges::count_if(requests, [](const Request& one) {
                          return one.output_tokens > 1;
                      }));
        }
    }
}

TEST(LiveServer, CancelledOnTheirWayTheyFreeBlocksOfBothPools) {
    SchedulerLimits tight = kRoomy;
    tight.num_blocks = 14;
    SplitServer split{kRoomy, tight};
    std::vector<Ticket> tickets;
    for (int i = 0; i < 60; ++i) {
        const Submitted sent = split.server->submit(
            {.prompt = {1, 2, 3, 4, 5}, .output_tokens = 40}, [](const TokenEvent&) {});
        ASSERT_EQ(sent.refusal, Refusal::none);
        tickets.push_back(sent.ticket);
        std::this_thread::sleep_for(std::chrono::microseconds{200});
        split.server->cancel(tickets[static_cast<std::size_t>(i / 2)]);
    }
    for (const Ticket ticket : tickets) {
        split.server->cancel(ticket);
    }
    split.server->wait_until_idle();
    const LiveCounters counters = split.server->counters();
    EXPECT_EQ(counters.finished + counters.cancelled, 60);
    EXPECT_EQ(counters.free_blocks, counters.blocks);
    EXPECT_EQ(counters.waiting + counters.running, 0);
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

// A step that waits until it is let go: what is submitted meanwhile waits in the queue.
class HeldStep : public DecodeStep {
public:
    explicit HeldStep(DecodeStep& step) : step_(&step) {}
    Result<void> run(std::span<const DecodeChunk> chunks, std::vector<float>& logits) override {
        let_go.wait(false);
        return step_->run(chunks, logits);
    }
    std::atomic<bool> let_go = false;

private:
    DecodeStep* step_;
};

TEST(LiveServer, RefusesWhatNeverFitsAndWhatIsTooMuch) {
    const ServedModel served = small_model();
    const auto router = make_request_router("least_requests", 0);
    PagedDecoder decoder{served, CacheShape{kRoomy.num_blocks, kRoomy.block_size}};
    HeldStep held{decoder};
    LiveServer server{*find_batching_rules("vllm_v1"),
                      kRoomy,
                      LiveLimits{.context = 64, .max_queue = 2},
                      {&held},
                      *router};
    const auto submit = [&](std::size_t prompt, std::int64_t output) {
        return server
            .submit({.prompt = std::vector<std::int32_t>(prompt, 1), .output_tokens = output},
                    [](const TokenEvent&) {})
            .refusal;
    };
    EXPECT_EQ(submit(60, 5), Refusal::too_long);
    EXPECT_EQ(submit(60, std::numeric_limits<std::int64_t>::max()), Refusal::too_long);
    // Two at most are in the step that is held, and two wait: the fifth is refused for sure.
    std::set<Refusal> seen;
    for (int i = 0; i < 5; ++i) {
        seen.insert(submit(10, 50));
    }
    EXPECT_TRUE(seen.contains(Refusal::queue_full));
    held.let_go = true;
    held.let_go.notify_all();
    server.refuse_more();
    EXPECT_EQ(submit(1, 1), Refusal::stopped);
    server.stop();
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
