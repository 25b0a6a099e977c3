// SPDX-License-Identifier: Apache-2.0
#include "models/experts/expert_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orrery {
namespace expert_counts_test {

double sum_of(const std::vector<double>& counts) {
    return std::accumulate(counts.begin(), counts.end(), 0.0);
}

// The mean over draws of the busiest of `groups` equal groups of experts over the mean group.
double mean_most(const RouterDraw& draw, std::int64_t tokens, std::int64_t groups) {
    constexpr int kDraws = 200;
    const ExpertCounts counts(draw, 5);
    double most = 0;
    for (std::uint32_t m = 0; m < kDraws; ++m) {
        most += max_over_mean(counts.of(m, m % 7, tokens), groups) / kDraws;
    }
    return most;
}

// The published values of a uniform router of 4,096 tokens and top 8.
TEST(ExpertCounts, UniformChoiceIsAsSimulatedTokenByToken) {
    const RouterDraw fewer{.load = RouterLoad::uniform, .experts = 64, .topk = 8};
    EXPECT_NEAR(mean_most(fewer, 4096, 64), 1.103, 0.015);
    EXPECT_NEAR(mean_most(fewer, 4096, 8), 1.021, 0.005);
    const RouterDraw more{.load = RouterLoad::uniform, .experts = 256, .topk = 8};
    EXPECT_NEAR(mean_most(more, 4096, 256), 1.253, 0.02);
    EXPECT_NEAR(mean_most(more, 4096, 64), 1.103, 0.015);
}

TEST(ExpertCounts, AddUpAndAreWhole) {
    for (const RouterLoad load :
         {RouterLoad::uniform, RouterLoad::zipf, RouterLoad::bias_balanced}) {
        const RouterDraw draw{.load = load, .alpha = 1.2, .experts = 32, .topk = 4};
        const ExpertCounts counts(draw, 0);
        EXPECT_NEAR(sum_of(counts.chances()), 4, 1e-6);
        for (std::uint32_t m = 0; m < 20; ++m) {
            const std::vector<double> drawn = counts.of(m, 0, 1000);
            EXPECT_EQ(sum_of(drawn), 4000);
            for (const double count : drawn) {
                EXPECT_EQ(count, std::floor(count));
                EXPECT_LE(count, 1000);
                EXPECT_GE(count, 0);
            }
        }
    }
}

// The second expert of such a popularity is 2^1000 times less likely than the first one.
TEST(ExpertCounts, TheSteepestPopularityStillChoosesEnough) {
    for (const std::int64_t groups : {0, 8}) {
        const RouterDraw draw{.load = RouterLoad::zipf,
                              .alpha = 1000,
                              .experts = 32,
                              .topk = 4,
                              .groups = groups,
                              .group_topk = 4};
        const ExpertCounts counts(draw, 0);
        EXPECT_NEAR(sum_of(counts.chances()), 4, 1e-6);
        EXPECT_NEAR(*std::max_element(counts.chances().begin(), counts.chances().end()), 1, 1e-6);
        const std::vector<double> drawn = counts.of(0, 0, 1000);
        EXPECT_EQ(sum_of(drawn), 4000);
        EXPECT_EQ(*std::max_element(drawn.begin(), drawn.end()), 1000);
    }
}

TEST(ExpertCounts, DrawsDifferByMicroBatchGroupLayerAndSeed) {
    RouterDraw draw{.load = RouterLoad::uniform, .experts = 32, .topk = 4};
    const std::vector<double> first = ExpertCounts(draw, 0).of(0, 0, 1000);
    EXPECT_EQ(first, ExpertCounts(draw, 0).of(0, 0, 1000));
    EXPECT_NE(first, ExpertCounts(draw, 0).of(1, 0, 1000));
    EXPECT_NE(first, ExpertCounts(draw, 0).of(0, 1, 1000));
    EXPECT_NE(first, ExpertCounts(draw, 1).of(0, 0, 1000));
    draw.seed = 2;
    EXPECT_NE(first, ExpertCounts(draw, 0).of(0, 0, 1000));
}

// The chances of Zipf's law agree with tokens that are drawn one by one.
TEST(ExpertCounts, ChancesAreThoseOfChoicesWithoutRepetition) {
    for (const std::int64_t groups : {0, 8}) {
        const RouterDraw draw{.load = RouterLoad::zipf,
                              .alpha = 0.5,
                              .experts = 64,
                              .topk = 8,
                              .groups = groups,
                              .group_topk = groups / 2};
        const std::vector<double> one_by_one = expert_loads(draw, 3, 4096);
        const ExpertCounts counts(draw, 3);
        const std::vector<double>& chances = counts.chances();
        double squares = 0;
        for (std::size_t e = 0; e < chances.size(); ++e) {
            const double difference = one_by_one[e] / 4096 - chances[e];
            squares += difference * difference / static_cast<double>(chances.size());
        }
        EXPECT_LT(std::sqrt(squares), groups == 0 ? 0.01 : 0.03);
    }
}

// Tokens choose groups first: ranks of a group have their busy draws together.
TEST(ExpertCounts, GroupsMakeSumsOfTheirExpertsMoreUneven) {
    RouterDraw draw{.load = RouterLoad::uniform, .experts = 64, .topk = 8};
    const double free = mean_most(draw, 4096, 8);
    draw.groups = 8;
    draw.group_topk = 2;
    EXPECT_GT(mean_most(draw, 4096, 8), free);
}

TEST(ExpertCounts, LoadsThatAreNotDrawnAreAlwaysTheSame) {
    const RouterDraw hot{.load = RouterLoad::hot, .alpha = 3, .experts = 8, .topk = 2};
    EXPECT_EQ(ExpertCounts(hot, 1).of(0, 0, 800), ExpertCounts(hot, 1).of(7, 3, 800));
    EXPECT_NEAR(max_over_mean(ExpertCounts(hot, 1).of(0, 0, 800), 8), 3, 0.01);
}

// Two layers of two experts, and two micro-batches.
TEST(ExpertCounts, ATraceMayHaveEachMicroBatch) {
    const std::vector<std::int64_t> trace{1, 3, 1, 1, 3, 1, 0, 4};
    RouterDraw draw{
        .load = RouterLoad::trace, .experts = 2, .topk = 1, .trace = trace, .layers = 2};
    EXPECT_EQ(ExpertCounts(draw, 0).of(0, 5, 400), (std::vector<double>{100, 300}));
    EXPECT_EQ(ExpertCounts(draw, 0).of(1, 5, 400), (std::vector<double>{300, 100}));
    EXPECT_EQ(ExpertCounts(draw, 1).of(0, 0, 400), (std::vector<double>{200, 200}));
    EXPECT_EQ(ExpertCounts(draw, 1).of(3, 0, 400), (std::vector<double>{0, 400}));
}

TEST(ExpertCounts, CapacityDropsTheRest) {
    const RouterDraw draw{
        .load = RouterLoad::zipf, .alpha = 1, .experts = 16, .topk = 2, .capacity_factor = 1.25};
    const std::vector<double> counts = ExpertCounts(draw, 0).of(0, 0, 1024);
    EXPECT_LE(max_over_mean(counts, 16) * sum_of(counts) / 16, 160);
    EXPECT_LT(sum_of(counts), 2048);
}

}  // namespace expert_counts_test
}  // namespace orrery
