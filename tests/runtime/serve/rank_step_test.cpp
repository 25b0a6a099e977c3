// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/rank_step.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "tests/runtime/communication/local_ranks.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

ServedModel shared_model(Activation activation, bool experts = false) {
    Transformer model = tiny_gpt();
    model.seq_length = 40;
    model.num_layers = 3;
    if (activation == Activation::swiglu) {
        model = tiny_llama();
        model.seq_length = 40;
        model.num_layers = 3;
        model.num_query_groups = 2;
    }
    if (experts) {
        model.num_experts = 4;
        model.moe_ffn_hidden_size = 24;
        model.first_k_dense_replace = 1;
    }
    ServedModel served = *load_served_model(model, {}, 3);
    draw_adapters(served, 2, 3, 4);
    return served;
}

constexpr CacheShape kCache{.num_blocks = 12, .block_size = 4};

// Two sequences: a prompt in two parts beside one that generates.
std::vector<std::vector<DecodeChunk>> batches() {
    return {{{.tokens = {5, 6, 7, 8, 9}, .blocks = {4, 2}},
             {.tokens = {1, 2}, .blocks = {7}, .samples = true, .adapter = 1}},
            {{.tokens = {10, 11}, .context = 5, .blocks = {4, 2}, .samples = true},
             {.tokens = {3}, .context = 2, .blocks = {7}, .samples = true, .adapter = 1}}};
}

std::vector<std::vector<float>> run_all(DecodeStep& step) {
    std::vector<std::vector<float>> all;
    for (const std::vector<DecodeChunk>& chunks : batches()) {
        EXPECT_TRUE(step.run(chunks, all.emplace_back()));
    }
    return all;
}

TEST(RankStep, EveryCutGivesTheBitsOfOneRank) {
    for (const ServedModel& served : {shared_model(Activation::gelu),
                                      shared_model(Activation::swiglu),
                                      shared_model(Activation::swiglu, true)}) {
        PagedDecoder one{served, kCache};
        const auto expected = run_all(one);
        for (const RankGrid grid :
             {RankGrid{2, 1}, RankGrid{1, 2}, RankGrid{2, 2}, RankGrid{1, 3}}) {
            ASSERT_TRUE(check_cut(served.model, grid).empty());
            run_as_ranks(static_cast<std::uint32_t>(grid.num_ranks()),
                         [&](std::unique_ptr<Transport> transport) {
                             RankStep rank{served, kCache, grid, *transport};
                             if (transport->rank() > 0) {
                                 EXPECT_TRUE(rank.follow());
                                 return;
                             }
                             HeadStep head{rank};
                             EXPECT_TRUE(head.keep_alive());
                             EXPECT_EQ(run_all(head), expected);
                         });
        }
    }
}

// Two instances with the same cut: the second goes on with the cache that the first one sent, in
// other blocks.
TEST(RankStep, AnotherInstanceGoesOnWithTheSentCache) {
    const ServedModel served = shared_model(Activation::swiglu);
    PagedDecoder one{served, kCache};
    const auto expected = run_all(one);
    const std::vector<DecodeChunk> first = batches()[0];
    std::vector<DecodeChunk> rest = batches()[1];
    rest[0].blocks = {9, 1};
    rest[1].blocks = {3};
    for (const RankGrid grid : {RankGrid{1, 1}, RankGrid{2, 1}, RankGrid{1, 2}}) {
        const auto body = [&](std::unique_ptr<Transport> transport) {
            const std::int64_t own = transport->rank() / grid.num_ranks();
            RankStep rank{served, kCache, grid, *transport, own};
            if (transport->rank() > 0) {
                EXPECT_TRUE(rank.follow());
                return;
            }
            HeadStep prompts{rank};
            InstanceRanks others{grid, 1, *transport};
            HeadStep generation{others, served.model.vocab_size};
            EXPECT_TRUE(generation.keep_alive());
            std::vector<float> logits;
            ASSERT_TRUE(prompts.run(first, logits));
            EXPECT_EQ(logits, expected[0]);
            ASSERT_TRUE(prompts.send_cache({1, 5, first[0].blocks}));
            ASSERT_TRUE(prompts.send_cache({1, 2, first[1].blocks}));
            ASSERT_TRUE(prompts.send_cache({1, 2, first[1].blocks}));
            ASSERT_TRUE(generation.receive_cache({0, 5, rest[0].blocks}));
            ASSERT_TRUE(generation.receive_cache({0, 2, rest[1].blocks}));
            ASSERT_TRUE(generation.receive_cache({0, 2, {}}));  // dropped
            ASSERT_TRUE(generation.run(rest, logits));
            EXPECT_EQ(logits, expected[1]);
        };
        run_as_ranks(static_cast<std::uint32_t>(2 * grid.num_ranks()), body);
    }
}

TEST(RankStep, ALostInstanceIsAnErrorOfItsHead) {
    const ServedModel served = shared_model(Activation::gelu);
    const auto body = [&](std::unique_ptr<Transport> transport) {
        if (transport->rank() > 0) {
            return;  // dies
        }
        InstanceRanks others{{1, 1}, 1, *transport};
        HeadStep generation{others, served.model.vocab_size};
        std::vector<float> logits;
        const Result<void> done = generation.run(batches()[0], logits);
        ASSERT_FALSE(done);
        EXPECT_NE(done.error().what.find("rank 1"), std::string::npos) << done.error().what;
    };
    run_as_ranks(2, body);
}

// What a step takes is timed on rank 0.
TEST(RankStep, AStepWithoutSamplesEndsWithItsLastStage) {
    const ServedModel served = shared_model(Activation::gelu);
    constexpr RankGrid kStages{1, 2};
    const auto body = [&](std::unique_ptr<Transport> transport) {
        RankStep rank{served, kCache, kStages, *transport};
        if (transport->rank() > 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds{200});
            EXPECT_TRUE(rank.follow());
            return;
        }
        HeadStep head{rank};
        const auto begin = std::chrono::steady_clock::now();
        std::vector<float> logits;
        EXPECT_TRUE(head.run({{{.tokens = {5, 6, 7}, .blocks = {4}}}}, logits));
        EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds{100});
    };
    run_as_ranks(2, body);
}

// Words beyond what the head of a call holds.
TEST(RankStep, LongCallsAreHeardWhole) {
    const auto body = [](std::unique_ptr<Transport> transport) {
        InstanceRanks ranks{{1, 2}, 0, *transport};
        for (const std::size_t count : {0, 1, 256, 257, 3000}) {
            std::vector<std::int32_t> words(count);
            std::iota(words.begin(), words.end(), 7);
            if (transport->rank() == 0) {
                EXPECT_TRUE(ranks.tell(InstanceCall::compute, words));
                continue;
            }
            std::vector<std::int32_t> heard;
            const auto call = ranks.hear(heard);
            ASSERT_TRUE(call);
            EXPECT_EQ(*call, InstanceCall::compute);
            EXPECT_EQ(heard, words);
        }
    };
    run_as_ranks(2, body);
}

TEST(RankStep, AMoveSurvivesItsMessage) {
    const CacheMove again = move_of_words(words_of_move({3, 17, {4, 9}}));
    EXPECT_EQ(again.other, 3U);
    EXPECT_EQ(again.tokens, 17);
    EXPECT_EQ(again.blocks, (std::vector<KvBlock>{4, 9}));
}

TEST(RankStep, ABatchSurvivesItsMessage) {
    for (const std::vector<DecodeChunk>& chunks : batches()) {
        const auto again = chunks_of_words(words_of_chunks(chunks));
        ASSERT_EQ(again.size(), chunks.size());
        for (std::size_t i = 0; i < chunks.size(); ++i) {
            EXPECT_EQ(again[i].tokens, chunks[i].tokens);
            EXPECT_EQ(again[i].context, chunks[i].context);
            EXPECT_EQ(again[i].blocks, chunks[i].blocks);
            EXPECT_EQ(again[i].samples, chunks[i].samples);
        }
    }
}

TEST(RankStep, CutsThatDontDivideAreErrors) {
    const Transformer model = tiny_llama();  // one key-value head, two layers
    EXPECT_EQ(check_cut(model, {2, 1}).size(), 1u);
    EXPECT_EQ(check_cut(model, {1, 3}).size(), 1u);
    const ModelPart last = part_of_rank(model, {1, 2}, 1);
    EXPECT_EQ(last.first_layer, 1);
    EXPECT_TRUE(last.samples && !last.embeds);
}

}  // namespace
}  // namespace orrery
