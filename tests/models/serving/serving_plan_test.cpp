// SPDX-License-Identifier: Apache-2.0
#include "models/serving/serving_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/models/known_models.h"

namespace orrery {
namespace {

Transformer dense_8b() {
    return llama(32, 4096, 14336, 8, 128256);
}
Transformer dense_70b() {
    return llama(80, 8192, 28672, 8, 128256);
}

// Published figures of the models.
TEST(ServingPlan, BytesOfKeysAndValues) {
    EXPECT_EQ(key_value_bytes(dense_8b(), {}).count(), 131'072);
    EXPECT_EQ(key_value_bytes(dense_70b(), {}).count(), 327'680);
    EXPECT_EQ(key_value_bytes(llama(126, 16384, 53248, 8, 128256), {}).count(), 516'096);
    EXPECT_EQ(key_value_bytes(llama(32, 4096, 11008, 32, 32000), {}).count(), 524'288);
    const ServingPlan fp8{.key_value_precision = Dtype::fp8};
    EXPECT_EQ(key_value_bytes(dense_70b(), fp8).count(), 163'840);
    // Sixteen ranks share eight heads: each head is stored twice.
    const ServingPlan sixteen{.tensor_model_parallel_size = 16};
    EXPECT_EQ(16 * key_value_bytes_of_rank(dense_70b(), sixteen, 0).count(), 2 * 327'680);
}

TEST(ServingPlan, WeightsOnARank) {
    const std::int64_t all = num_parameters(dense_8b());
    EXPECT_EQ(serving_weight_bytes(dense_8b(), {}, 0).count(), 2 * all);
    const ServingPlan fp8{.precision = ProductPrecision::fp8, .weight_bits = 8};
    const std::int64_t vocabulary = 2 * 128256 * 4096;
    // The output layer's norm keeps 16 bits, too.
    EXPECT_EQ(serving_weight_bytes(dense_8b(), fp8, 0).count(),
              all - vocabulary - 4096 + 2 * (vocabulary + 4096));
}

Transformer deepseek_v3() {
    Transformer model = llama(61, 7168, 18432, 128, 129280);
    model.num_attention_heads = 128;
    model.multi_latent_attention = true;
    model.q_lora_rank = 1536;
    model.num_experts = 256;
    model.moe_router_topk = 8;
    model.moe_ffn_hidden_size = 2048;
    model.moe_shared_expert_intermediate_size = 2048;
    model.first_k_dense_replace = 3;
    return model;
}

// Llama 3.1 405B with an MLP in FP8: 570,425,344 weights of attention a layer take twice as much.
TEST(ServingPlan, AttentionMayKeep16Bits) {
    const Transformer model = llama(126, 16384, 53248, 8, 128256);
    ServingPlan plan{
        .tensor_model_parallel_size = 8, .precision = ProductPrecision::fp8, .weight_bits = 8};
    const std::int64_t fp8 = serving_weight_bytes(model, plan, 0).count();
    plan.attention_in_16_bits = true;
    EXPECT_EQ(serving_weight_bytes(model, plan, 0).count() - fp8, 126 * 570'425'344LL / 8);
    plan.weight_bits = 4;
    const std::int64_t four = serving_weight_bytes(model, plan, 0).count();
    plan.attention_in_16_bits = false;
    EXPECT_EQ(four - serving_weight_bytes(model, plan, 0).count(),
              126 * 570'425'344LL * 12 / 8 / 8);
    EXPECT_EQ(plan_of_attention(plan), plan);
}

// 576 values a layer, which every tensor-parallel rank holds.
TEST(ServingPlan, LatentVectorsAreNotSplit) {
    EXPECT_EQ(key_value_bytes(deepseek_v3(), {}).count(), 70'272);
    const ServingPlan eight{.tensor_model_parallel_size = 8};
    EXPECT_EQ(key_value_bytes_of_rank(deepseek_v3(), eight, 0).count(), 70'272);
}

// Experts are shared by all ranks of a stage, everything else by the tensor-parallel ones.
TEST(ServingPlan, ExpertsLieOnAllRanksOfAStage) {
    const ServingPlan tensor{
        .tensor_model_parallel_size = 8, .precision = ProductPrecision::fp8, .weight_bits = 8};
    const ServingPlan data{.data_parallel_size = 8,
                           .expert_model_parallel_size = 8,
                           .precision = ProductPrecision::fp8,
                           .weight_bits = 8};
    const double experts = 58.0 * 256 * 3 * 7168 * 2048;
    const double all = static_cast<double>(num_parameters(deepseek_v3()));
    const double vocabulary = 2.0 * 129280 * 7168;
    const auto bytes = [&](const ServingPlan& plan) {
        return static_cast<double>(serving_weight_bytes(deepseek_v3(), plan, 0).count());
    };
    EXPECT_NEAR(bytes(tensor), (all + vocabulary) / 8, 1e5);
    EXPECT_NEAR(bytes(data), experts / 8 + (all - experts + vocabulary), 1e5);
}

TEST(ServingPlan, StagesAndKindsOfLayers) {
    const ServingPlan plan{.pipeline_model_parallel_size = 3};
    EXPECT_EQ(layers_of_stage(dense_70b(), plan, 0), 27);
    EXPECT_EQ(layers_of_stage(dense_70b(), plan, 2), 26);
    EXPECT_EQ(stage_layers(deepseek_v3(), plan, 0).experts, 21 - 3);
    EXPECT_EQ(stage_layers(deepseek_v3(), plan, 2).experts, 20);
    Transformer windowed = dense_8b();
    windowed.sliding_window = 128;
    windowed.sliding_window_every = 2;
    EXPECT_EQ(stage_layers(windowed, {}, 0).windowed, 16);
}

// 256 experts, 8 of them a token.
TEST(ServingPlan, ExpertsThatTokensReach) {
    EXPECT_DOUBLE_EQ(experts_reached(deepseek_v3(), 1), 8);
    EXPECT_NEAR(experts_reached(deepseek_v3(), 32), 163.31, 0.01);
    EXPECT_NEAR(experts_reached(deepseek_v3(), 128), 251.60, 0.01);
    EXPECT_EQ(experts_reached_in_turn(deepseek_v3(), 1), 8);
    EXPECT_EQ(experts_reached_in_turn(deepseek_v3(), 31), 248);
    EXPECT_EQ(experts_reached_in_turn(deepseek_v3(), 128), 256);
}

TEST(ServingPlan, FewTokensReachFewExperts) {
    Transformer model = deepseek_v3();
    model.num_experts = 8;
    model.moe_router_topk = 2;
    EXPECT_DOUBLE_EQ(experts_reached(model, 4), 5.46875);
    model.num_experts = 128;
    model.moe_router_topk = 8;
    EXPECT_NEAR(experts_reached(model, 16), 82.42, 0.005);
}

// Loads at four quantiles of 1/x between 1 and 80, scaled to 100 rows: 2.5, 7.5, 22.6 and 67.4.
TEST(ServingPlan, LoadsOfExpertsFollowAPowerLaw) {
    Transformer model = deepseek_v3();
    model.num_experts = 4;
    model.moe_router_topk = 1;
    EXPECT_EQ(rows_of_experts(model, 100, 1), (std::vector<std::int64_t>{3, 7, 23, 67}));
    // Of 1/x^2 the quantiles are 1.1, 1.6, 2.6 and 7.4.
    EXPECT_EQ(rows_of_experts(model, 100, 2).back(), 58);
    EXPECT_LT(rows_of_experts(model, 100, 0.1).back(), 58);
    model.moe_router_topk = 3;
    EXPECT_EQ(rows_of_experts(model, 10, 1).back(), 10);
    model.moe_router_topk = 4;
    EXPECT_EQ(rows_of_experts(model, 10, 1), std::vector<std::int64_t>(4, 10));
}

TEST(ServingPlan, NoRowOfAnUnequalLoadIsLost) {
    for (const double skew : {0.1, 0.5, 1.0, 1.01, 1.2, 4.0}) {
        for (const std::int64_t tokens : {1, 2, 7, 31, 32, 33, 100, 8192, 1'000'000}) {
            const std::vector<std::int64_t> rows = rows_of_experts(deepseek_v3(), tokens, skew);
            EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}), 8 * tokens);
            EXPECT_LE(*std::ranges::max_element(rows), tokens);
            EXPECT_GE(*std::ranges::min_element(rows), 0);
            EXPECT_GE(std::ranges::count_if(rows, [](auto row) { return row > 0; }), 8);
        }
    }
    // Fewer experts than with equal loads, which reach 163.
    EXPECT_LT(std::ssize(rows_of_experts(deepseek_v3(), 32, 1.01)) -
                  std::ranges::count(rows_of_experts(deepseek_v3(), 32, 1.01), 0),
              150);
}

TEST(ServingPlan, TheBusiestRankHasMoreThanItsShare) {
    ServingPlan plan{.tensor_model_parallel_size = 8, .expert_model_parallel_size = 8};
    const auto sum = [&] {
        const std::vector<std::int64_t> rows = expert_rows_of_rank(deepseek_v3(), plan, 1024);
        EXPECT_EQ(rows.size(), 32U);
        return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
    };
    EXPECT_EQ(sum(), 1024);
    plan.expert_skew = 1.01;
    const std::int64_t busiest = sum();
    EXPECT_GT(busiest, 1100);
    plan.expert_skew = 2;
    EXPECT_GT(sum(), busiest);
    plan.expert_model_parallel_size = 512;
    EXPECT_EQ(expert_rows_of_rank(deepseek_v3(), plan, 1024).size(), 1U);
}

// 58 layers of 256 experts with three matrices of 7,168 x 2,048.
TEST(ServingPlan, RanksOfExpertsHoldNothingElse) {
    const ServingPlan together{.data_parallel_size = 8, .weight_bits = 8};
    const ServingPlan split{.data_parallel_size = 8, .expert_ranks = 16, .weight_bits = 8};
    EXPECT_EQ(split.num_ranks(), 24);
    const std::int64_t experts = 58LL * 256 * 3 * 7168 * 2048;
    EXPECT_EQ(expert_rank_bytes(deepseek_v3(), split).count(), experts / 16);
    EXPECT_EQ(serving_weight_bytes(deepseek_v3(), together, 0).count() -
                  serving_weight_bytes(deepseek_v3(), split, 0).count(),
              experts / 8);
}

// Keys and values of each layer of the stage, if heads share them.
TEST(ServingPlan, SharedHeadsAreCopied) {
    const ServingPlan plan{.pipeline_model_parallel_size = 2};
    Transformer model = llama(5, 1024, 4096, 2, 32000);
    EXPECT_EQ(head_copies(model, plan, 0), 6);
    EXPECT_EQ(head_copies(model, plan, 1), 4);
    model.num_query_groups = model.num_attention_heads;
    EXPECT_EQ(head_copies(model, plan, 0), 0);
    model.num_query_groups = 2;
    model.multi_latent_attention = true;
    EXPECT_EQ(head_copies(model, plan, 0), 0);
}

}  // namespace
}  // namespace orrery
