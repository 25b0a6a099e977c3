// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/released_weights.h"

#include <gtest/gtest.h>

#include <array>

namespace orrery {
namespace {

// The number of products of a layer of GPT (QKV, projection, fc1, fc2) that are freed.
std::size_t released_of_gpt(std::int64_t hidden_size, std::int64_t max_reuse_distance) {
    std::array<Parameter, 4> products;
    std::vector<Parameter*> layer;
    for (std::size_t i = 0; i < products.size(); ++i) {
        constexpr std::array<std::int64_t, 4> kSquares{3, 1, 4, 4};
        products[i].elements = kSquares[i] * hidden_size * hidden_size;
        layer.push_back(&products[i]);
    }
    ParallelPlan plan;
    plan.stage3_max_reuse_distance = max_reuse_distance;
    const std::vector<Parameter*> released = released_before_backward(plan, layer);
    for (std::size_t i = 0; i < released.size(); ++i) {
        EXPECT_EQ(released[i], layer[i]);  // the first products wait longest
    }
    return released.size();
}

TEST(ReleasedWeights, AreThoseWhoseNextUseIsFarAway) {
    constexpr std::int64_t kDefaultOfDeepSpeed = 1'000'000'000;
    EXPECT_EQ(released_of_gpt(6144, kDefaultOfDeepSpeed), 0u);   // 18 h^2: 0.68e9
    EXPECT_EQ(released_of_gpt(8192, kDefaultOfDeepSpeed), 2u);   // 18 and 16 h^2, not 8 h^2
    EXPECT_EQ(released_of_gpt(12288, kDefaultOfDeepSpeed), 3u);  // 8 h^2: 1.2e9
}

TEST(ReleasedWeights, AreAllWithoutADistanceAndNoneByDefault) {
    EXPECT_EQ(released_of_gpt(1024, 0), 4u);
    EXPECT_EQ(released_of_gpt(20480, ParallelPlan{}.stage3_max_reuse_distance), 0u);
    // At the limit a parameter is freed.
    EXPECT_EQ(released_of_gpt(1024, 18 * 1024 * 1024), 1u);
    EXPECT_EQ(released_of_gpt(1024, 18 * 1024 * 1024 + 1), 0u);
}

}  // namespace
}  // namespace orrery
