// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/served_experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/random.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

Transformer expert_model() {
    Transformer model = tiny_llama();
    model.num_experts = 5;
    model.moe_ffn_hidden_size = 6;
    return model;
}

std::vector<float> drawn(std::size_t size, std::uint64_t seed) {
    std::vector<float> values;
    for (std::size_t i = 0; i < size; ++i) {
        const auto words = random_words({.seed = seed}, i);
        values.push_back(static_cast<float>(words[0]) * 0x1p-32f - 0.5f);
    }
    return values;
}

// Of one token, in doubles: softmax of the best logits times SwiGLU of each.
std::vector<double> expected(const Transformer& m, const ServedExperts& e, const float* x) {
    const auto h = static_cast<std::size_t>(m.hidden_size);
    const auto f = static_cast<std::size_t>(m.expert_ffn_size());
    const auto count = static_cast<std::size_t>(m.num_experts);
    std::vector<double> logits(count);
    for (std::size_t j = 0; j < count; ++j) {
        for (std::size_t i = 0; i < h; ++i) {
            logits[j] += static_cast<double>(x[i] * e.router[i * count + j]);
        }
    }
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](auto a, auto b) { return logits[a] > logits[b]; });
    order.resize(static_cast<std::size_t>(m.moe_router_topk));
    double total = 0;
    for (const std::size_t j : order) {
        total += std::exp(logits[j]);
    }
    std::vector<double> y(h);
    for (const std::size_t j : order) {
        for (std::size_t c = 0; c < f; ++c) {
            double gate = 0;
            double up = 0;
            for (std::size_t i = 0; i < h; ++i) {
                const float* row = &e.fc1[(j * h + i) * 2 * f];
                gate += static_cast<double>(x[i] * row[c]);
                up += static_cast<double>(x[i] * row[f + c]);
            }
            const double act = gate / (1 + std::exp(-gate)) * up * std::exp(logits[j]) / total;
            for (std::size_t i = 0; i < h; ++i) {
                y[i] += act * static_cast<double>(e.fc2[(j * f + c) * h + i]);
            }
        }
    }
    return y;
}

TEST(ServedExperts, AreTheSumOfTheChosenOnes) {
    const Transformer m = expert_model();
    const ServedExperts experts{.router = drawn(16 * 5, 1),
                                .router_bias = {},
                                .fc1 = drawn(5 * 16 * 12, 2),
                                .fc2 = drawn(5 * 6 * 16, 3)};
    constexpr std::int64_t kTokens = 7;
    const std::vector<float> x = drawn(kTokens * 16, 4);
    std::vector<float> y;
    const auto keep = [](std::int64_t, std::vector<float> mine, std::vector<float>& all) {
        all = std::move(mine);
        return Result<void>{};
    };
    ASSERT_TRUE(run_experts(m, experts, kTokens, x, keep, y));
    ASSERT_EQ(y.size(), x.size());
    for (std::size_t t = 0; t < kTokens; ++t) {
        const std::vector<double> sum = expected(m, experts, &x[t * 16]);
        for (std::size_t i = 0; i < 16; ++i) {
            EXPECT_NEAR(y[t * 16 + i], sum[i], 1e-5) << t << " " << i;
        }
    }
}

TEST(ServedExperts, SaysWhatIsNotServed) {
    Transformer m = expert_model();
    EXPECT_EQ(why_not_served(m), "");
    m.moe_shared_expert_intermediate_size = 8;
    EXPECT_NE(why_not_served(m), "");
}

}  // namespace
}  // namespace orrery
