// SPDX-License-Identifier: Apache-2.0
#include "models/router_load.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace orrery {
namespace {

double sum(const std::vector<double>& loads) {
    return std::accumulate(loads.begin(), loads.end(), 0.0);
}

TEST(RouterLoad, BalancedExpertsHaveEquallyMany) {
    const std::vector<double> loads = expert_loads({.experts = 64, .topk = 8}, 3, 4096);
    EXPECT_EQ(loads, std::vector<double>(64, 512.0));
    EXPECT_EQ(max_over_mean(loads, 8), 1.0);
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
        EXPECT_DOUBLE_EQ(sum(loads), 4096 * 8);
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
    EXPECT_DOUBLE_EQ(sum(loads), 2048);
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

}  // namespace
}  // namespace orrery
