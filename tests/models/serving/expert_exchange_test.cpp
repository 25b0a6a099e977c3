// SPDX-License-Identifier: Apache-2.0
#include "models/serving/expert_exchange.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/serving/serving_kernels.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

Transformer with_many_experts() {
    Transformer model = llama(4, 4096, 14336, 8, 32000);
    model.num_experts = 64;
    model.moe_router_topk = 8;
    model.moe_ffn_hidden_size = 1024;
    return model;
}

ServingPlan spread(std::int64_t ranks) {
    return {.data_parallel_size = ranks,
            .expert_model_parallel_size = ranks,
            .multi_node_nvlink = true};
}

TEST(ExpertExchange, MoreRanksThanATokenHasExpertsExchangeRows) {
    EXPECT_TRUE(exchanges_rows(with_many_experts(), spread(16)));
    EXPECT_FALSE(exchanges_rows(with_many_experts(), spread(8)));
    EXPECT_FALSE(exchanges_rows(with_many_experts(), {.tensor_model_parallel_size = 16}));
    ServingPlan cut = spread(16);
    cut.expert_model_parallel_size = 8;
    EXPECT_FALSE(exchanges_rows(with_many_experts(), cut));
    ServingPlan apart = spread(16);
    apart.multi_node_nvlink = false;
    EXPECT_FALSE(exchanges_rows(with_many_experts(), apart));
}

TEST(ExpertExchange, ARowGoesToEachRankThatItReachesOnce) {
    const Transformer model = with_many_experts();
    ServingPlan plan = spread(16);
    const auto bytes = [&](bool back) {
        const ServingOp op =
            back ? expert_sums(model, plan, 100, 4) : expert_inputs(model, plan, 100, 4);
        return std::get<CollectiveCall>(op.work).bytes.count();
    };
    // 16 (1 - (15/16)^8) = 6.453 of 16 ranks
    EXPECT_NEAR(static_cast<double>(bytes(true)), 100 * 4096 * 2 * 6.453, 1000);
    EXPECT_EQ(bytes(false), bytes(true));
    plan.precision = ProductPrecision::fp8;
    EXPECT_NEAR(static_cast<double>(bytes(false)), static_cast<double>(bytes(true)) / 2, 1);
}

TEST(ExpertExchange, AStepExchangesRowsInsteadOfGatheringThem) {
    const BatchShape batch{.tokens = 160,
                           .sampled = 160,
                           .generating = 160,
                           .generating_context = 16000,
                           .chunks = {}};
    const auto count = [&](std::int64_t ranks, CollectiveKind kind) {
        const auto ops = serving_ops(with_many_experts(), spread(ranks), batch, 0);
        return std::ranges::count_if(ops, [&](const ServingOp& op) {
            const auto* call = std::get_if<CollectiveCall>(&op.work);
            return call != nullptr && call->kind == kind;
        });
    };
    EXPECT_EQ(count(16, CollectiveKind::all_to_all), 2);
    EXPECT_EQ(count(16, CollectiveKind::all_gather), 0);
    EXPECT_EQ(count(8, CollectiveKind::all_to_all), 0);
    EXPECT_EQ(count(8, CollectiveKind::all_gather), 1);
    EXPECT_EQ(count(8, CollectiveKind::reduce_scatter), 1);
}

}  // namespace
}  // namespace orrery
