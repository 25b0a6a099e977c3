// SPDX-License-Identifier: Apache-2.0
#include "models/experts/router_load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orrery {
namespace {

double sum_of_loads(const std::vector<double>& loads) {
    return std::accumulate(loads.begin(), loads.end(), 0.0);
}

TEST(RouterLoad, BalancedExpertsHaveEquallyMany) {
    const std::vector<double> loads = expert_loads({.experts = 64, .topk = 8}, 3, 4096);
    EXPECT_EQ(loads, std::vector<double>(64, 512.0));
    EXPECT_EQ(max_over_mean(loads, 8), 1.0);
}

TEST(RouterLoad, ConsecutiveExpertsHaveEquallyMany) {
    const RouterDraw draw{.load = RouterLoad::consecutive, .experts = 64, .topk = 8};
    EXPECT_EQ(expert_loads(draw, 3, 4096), std::vector<double>(64, 512.0));
}

// Over layers: the mean of the largest of 64 experts over the mean one is 1.103 with a deviation of
// 0.015, and of 8 ranks 1.021.
TEST(RouterLoad, UniformChoiceOf4096TokensIsAsSimulatedElsewhere) {
    const RouterDraw draw{.load = RouterLoad::uniform, .experts = 64, .topk = 8};
    double experts = 0;
    double squares = 0;
    double ranks = 0;
    constexpr int kLayers = 200;
    for (int layer = 0; layer < kLayers; ++layer) {
        const std::vector<double> loads = expert_loads(draw, layer, 4096);
        EXPECT_DOUBLE_EQ(sum_of_loads(loads), 4096 * 8);
        const double most = max_over_mean(loads, 64);
        experts += most / kLayers;
        squares += most * most / kLayers;
        ranks += max_over_mean(loads, 8) / kLayers;
    }
    EXPECT_NEAR(experts, 1.103, 0.0075);  // half of the deviation of one layer
    EXPECT_NEAR(std::sqrt(squares - experts * experts), 0.015, 0.004);
    EXPECT_NEAR(ranks, 1.021, 0.003);
}

TEST(RouterLoad, MoreTokensAreMoreEven) {
    const RouterDraw draw{.load = RouterLoad::uniform, .experts = 64, .topk = 8};
    const double few = max_over_mean(expert_loads(draw, 0, 4096), 64) - 1;
    const double many = max_over_mean(expert_loads(draw, 0, 4 * 4096), 64) - 1;
    EXPECT_NEAR(many, few / 2, 1e-9);
}

TEST(RouterLoad, ZipfIsUnevenAndItsSeedAndLayerChooseTheBusyExperts) {
    RouterDraw draw{.load = RouterLoad::zipf, .alpha = 1, .experts = 16, .topk = 2};
    const std::vector<double> loads = expert_loads(draw, 0, 1024);
    EXPECT_DOUBLE_EQ(sum_of_loads(loads), 2048);
    EXPECT_GT(max_over_mean(loads, 16), 2);
    EXPECT_EQ(loads, expert_loads(draw, 0, 1024));
    EXPECT_NE(loads, expert_loads(draw, 1, 1024));
    draw.seed = 2;
    EXPECT_NE(loads, expert_loads(draw, 0, 1024));
    draw.alpha = 0;
    EXPECT_LT(max_over_mean(expert_loads(draw, 0, 1024), 16), 1.5);
}

TEST(RouterLoad, TheBusiestRankIsOfConsecutiveExperts) {
    EXPECT_DOUBLE_EQ(max_over_mean({3, 1, 2, 2}, 4), 1.5);
    EXPECT_DOUBLE_EQ(max_over_mean({3, 1, 2, 2}, 2), 1.0);
    const Transformer model{.num_experts = 8, .moe_router_topk = 2};
    EXPECT_DOUBLE_EQ(busiest_rank(model, {.expert_model_parallel_size = 4}, 0, 64), 1.0);
    EXPECT_GT(
        busiest_rank(model,
                     {.expert_model_parallel_size = 4, .moe_router_load = RouterLoad::uniform},
                     0,
                     64),
        1.0);
}

TEST(RouterLoad, ACapacityDropsTheRest) {
    EXPECT_EQ(expert_capacity(4096, 2, 8, 1.25), 1280);
    const RouterDraw draw{.load = RouterLoad::hot,
                          .alpha = 4,
                          .seed = 0,
                          .experts = 8,
                          .topk = 2,
                          .capacity_factor = 1.25};
    const std::vector<double> loads = expert_loads(draw, 0, 4096);
    EXPECT_DOUBLE_EQ(loads[0], 1280);
    EXPECT_LT(sum_of_loads(loads), 4096 * 2);
}

TEST(RouterLoad, ExpertsThatAreFilledUpHaveTheCapacity) {
    Transformer model;
    model.num_experts = 8;
    model.moe_router_topk = 2;
    ParallelPlan plan{.expert_model_parallel_size = 4};
    plan.moe_pad_expert_input_to_capacity = true;
    plan.moe_expert_capacity_factor = 1;
    const LayerLoad mean = layer_load(model, plan, 0, 4096);
    EXPECT_EQ(mean.kept, 1);
    EXPECT_EQ(mean.busiest, 1);
    EXPECT_TRUE(mean.shares.empty());
    plan.moe_expert_capacity_factor = 1.5;
    const LayerLoad more = layer_load(model, plan, 0, 4096);
    EXPECT_EQ(more.kept, 1.5);
    EXPECT_EQ(more.busiest, 1.5);
    EXPECT_EQ(more.shares, (std::vector<std::uint32_t>{375'000, 375'000, 375'000, 375'000}));
}

TEST(RouterLoad, ABiasMovesTowardsTheMean) {
    EXPECT_EQ(bias_update(std::vector<double>{10, 2, 4, 0}), (std::vector<int>{-1, 1, 0, 1}));
    RouterDraw draw{.load = RouterLoad::zipf, .alpha = 1, .experts = 64, .topk = 8};
    const double skewed = max_over_mean(expert_loads(draw, 0, 4096), 64);
    draw.load = RouterLoad::bias_balanced;
    const double balanced = max_over_mean(expert_loads(draw, 0, 4096), 64);
    EXPECT_GT(skewed, 2);
    EXPECT_LT(balanced, 1.2);
}

// All experts of a token are in as many groups as it may choose: at most these have rows of it.
TEST(RouterLoad, GroupsAreChosenFirst) {
    const RouterDraw draw{
        .load = RouterLoad::uniform, .experts = 16, .topk = 2, .groups = 4, .group_topk = 1};
    const std::vector<double> loads = expert_loads(draw, 0, 1);
    int groups = 0;
    for (std::size_t g = 0; g < 4; ++g) {
        groups += sum_of_loads({loads.begin() + 4 * static_cast<std::ptrdiff_t>(g),
                                loads.begin() + 4 * static_cast<std::ptrdiff_t>(g + 1)}) > 0
                      ? 1
                      : 0;
    }
    EXPECT_EQ(groups, 1);
}

TEST(RouterLoad, TheHotExpertChangesFromLayerToLayer) {
    const RouterDraw draw{.load = RouterLoad::hot, .alpha = 2, .seed = 1, .experts = 4, .topk = 1};
    for (std::size_t layer = 0; layer < 4; ++layer) {
        const std::vector<double> loads = expert_loads(draw, static_cast<std::int64_t>(layer), 100);
        EXPECT_DOUBLE_EQ(loads[(layer + 1) % 4], 50);
        EXPECT_DOUBLE_EQ(sum_of_loads(loads), 100);
    }
}

TEST(RouterLoad, ATraceIsScaledToTheTokens) {
    const std::vector<std::int64_t> trace{3, 1, 1, 3};
    const RouterDraw draw{.load = RouterLoad::trace, .experts = 2, .topk = 1, .trace = trace};
    EXPECT_EQ(expert_loads(draw, 0, 8), (std::vector<double>{6, 2}));
    EXPECT_EQ(expert_loads(draw, 1, 8), (std::vector<double>{2, 6}));
}

// Experts that are next to never chosen are not waited for.
TEST(RouterLoad, SteepPreferencesEnd) {
    const RouterDraw draw{.load = RouterLoad::zipf, .alpha = 100, .experts = 16, .topk = 4};
    const std::vector<double> loads = expert_loads(draw, 0, 64);
    EXPECT_DOUBLE_EQ(sum_of_loads(loads), 64 * 4);
    EXPECT_EQ(std::ranges::count(loads, 64.0), 4);
}

TEST(RouterLoad, ALayersLoadNamesItsBusiestRank) {
    const Transformer model{.num_experts = 4, .moe_router_topk = 1};
    const ParallelPlan plan{.expert_model_parallel_size = 2,
                            .moe_router_load = RouterLoad::trace,
                            .moe_router_load_trace = {1, 1, 5, 1}};
    const LayerLoad load = layer_load(model, plan, 0, 80);
    EXPECT_EQ(load.busiest_rank, 1);
    EXPECT_DOUBLE_EQ(load.busiest, 1.5);
    EXPECT_EQ(load.shares, (std::vector<std::uint32_t>{250'000, 750'000}));
    EXPECT_NEAR(load.of_experts[0], 5.0 / 6, 1e-12);
}

}  // namespace
}  // namespace orrery
