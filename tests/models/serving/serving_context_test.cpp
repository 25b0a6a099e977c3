// SPDX-License-Identifier: Apache-2.0
#include "models/serving/serving_context.h"

#include <gtest/gtest.h>

#include "tests/models/known_models.h"

namespace orrery {
namespace {

constexpr std::int64_t kRanks = 8;
constexpr std::int64_t kTokens = 640'000;

ServingPlan over_context(ContextExchange exchange) {
    ServingPlan plan;
    plan.context_parallel_size = kRanks;
    plan.context_parallel_comm = exchange;
    return plan;
}

// One layer of 16 heads of 128.
Transformer one_layer() {
    return gpt(1, 2048, 16, 1024, 50257);
}

std::vector<ServingOp> exchange_of_a_token(ContextExchange exchange) {
    const ServingPlan plan = over_context(exchange);
    const BatchShape all{
        .tokens = 1, .sampled = 1, .generating = 1, .generating_context = kTokens, .chunks = {}};
    std::vector<ServingOp> ops;
    add_context_exchange(one_layer(), plan, share_of_rank(all, plan), 1, ops);
    return ops;
}

// The volumes of Shyam et al., section 6.3: 2 (p - 1) / p (b d + 2 b heads) elements that a ring
// all-reduce moves, against 2 b t d p of keys and values, where t is N / p.
TEST(ServingContext, ATreeMovesThousandsOfElementsAndARingBillions) {
    std::int64_t reduced = 0;
    for (const ServingOp& op : exchange_of_a_token(ContextExchange::tree)) {
        if (const auto* call = std::get_if<CollectiveCall>(&op.work)) {
            reduced += call->bytes.count() / 2 * op.count;
        }
    }
    EXPECT_EQ(2 * (kRanks - 1) * reduced / kRanks, 3640);
    std::int64_t passed = 0;
    for (const ServingOp& op : exchange_of_a_token(ContextExchange::ring)) {
        passed += std::get<SendCall>(op.work).bytes.count() / 2 * op.count;
    }
    EXPECT_EQ(passed, 2'621'440'000);
}

// What a tree moves does not grow with the context.
TEST(ServingContext, ATreeKnowsNothingOfTheContext) {
    const ServingPlan plan = over_context(ContextExchange::tree);
    const auto bytes = [&](std::int64_t context) {
        std::vector<ServingOp> ops;
        add_context_exchange(one_layer(),
                             plan,
                             share_of_rank({.tokens = 1,
                                            .sampled = 1,
                                            .generating = 1,
                                            .generating_context = context,
                                            .chunks = {}},
                                           plan),
                             1,
                             ops);
        return std::get<CollectiveCall>(ops.back().name == "context merge" ? ops[1].work
                                                                           : ops.back().work)
            .bytes.count();
    };
    EXPECT_EQ(bytes(1000), bytes(1'000'000));
}

TEST(ServingContext, RanksShareWhatIsSeenAndTheNewTokensOfPrompts) {
    const ServingPlan plan = over_context(ContextExchange::tree);
    const BatchShape all{.tokens = 4 + 8000,
                         .sampled = 5,
                         .generating = 4,
                         .generating_context = 4 * 16'000,
                         .chunks = {{.new_tokens = 8000, .context = 0}}};
    const BatchShape own = share_of_rank(all, plan);
    EXPECT_EQ(own.generating, 4);
    EXPECT_EQ(own.generating_context, 4 * 2000);
    EXPECT_EQ(own.tokens, 4 + 1000);
    ASSERT_EQ(own.chunks.size(), 1U);
    // An eighth of all pairs of a causal prompt.
    const auto pairs = [](const PromptChunk& c) {
        return c.new_tokens * c.context + c.new_tokens * c.new_tokens / 2;
    };
    EXPECT_EQ(pairs(own.chunks[0]), pairs(all.chunks[0]) / kRanks);
    EXPECT_EQ(share_of_rank(all, {}), all);
}

// Every rank computes the token, and reads an eighth of the cache.
TEST(ServingContext, AttentionReadsARanksPart) {
    const BatchShape all{
        .tokens = 1, .sampled = 1, .generating = 1, .generating_context = kTokens, .chunks = {}};
    const auto bytes = [&](const ServingPlan& plan) {
        for (const ServingOp& op : attention_ops(one_layer(), plan, all, 0)) {
            if (op.name == kDecodeAttention) {
                return static_cast<double>(std::get<KernelCall>(op.work).bytes);
            }
        }
        return 0.0;
    };
    const double whole = bytes({});
    EXPECT_NEAR(bytes(over_context(ContextExchange::tree)), whole / kRanks, whole * 1e-4);
    EXPECT_EQ(over_context(ContextExchange::tree).num_ranks(), kRanks);
}

}  // namespace
}  // namespace orrery
