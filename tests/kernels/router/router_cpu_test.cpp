// SPDX-License-Identifier: Apache-2.0
#include "kernels/router/router_cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/router/slow_router.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

struct Chosen {
    std::vector<std::int32_t> experts;
    Doubles weights;
};

Chosen route(const RouterShape& s, const Tensor& logits, const Tensor& bias) {
    Tensor weights{s.tokens * s.k, Dtype::fp32};
    Tensor experts{s.tokens * s.k, Dtype::int32};
    router_forward(s,
                   logits.view(),
                   s.biased ? bias.view() : ConstTensorView{},
                   weights.view(),
                   experts.view());
    const auto all = ids(experts.view());
    return {{all.begin(), all.end()}, weights.doubles()};
}

TEST(RouterCpu, ChoosesAndWeighsByItsDefinition) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const RouterShape s = numeric::draw_router(draw);
            const Tensor logits = draw.tensor(s.tokens * s.experts, dtype, -3, 3);
            const Tensor bias = draw.tensor(s.biased ? s.experts : 0, Dtype::fp32);
            const Chosen chosen = route(s, logits, bias);
            const auto expected = numeric::slow_router(s, logits.doubles(), bias.doubles());
            ASSERT_EQ(chosen.experts, expected.experts);
            EXPECT_LT(numeric::relative_error(chosen.weights, expected.weights), 1e-6);
        }
    }
}

// With the choice held fixed: it has no gradient.
TEST(RouterCpu, BackwardIsTheDerivative) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        const RouterShape s = numeric::draw_router(draw);
        const Tensor logits = draw.tensor(s.tokens * s.experts, Dtype::fp32, -2, 2);
        const Tensor bias = draw.tensor(s.biased ? s.experts : 0, Dtype::fp32);
        const Chosen chosen = route(s, logits, bias);
        const Tensor dweights = draw.tensor(s.tokens * s.k, Dtype::fp32);
        Tensor dlogits{logits.size(), Dtype::fp32};
        router_backward(s,
                        dweights.view(),
                        logits.view(),
                        view_of(std::span<const std::int32_t>{chosen.experts}),
                        dlogits.view());
        const Doubles expected = numeric::numeric_gradient(
            [&, weights = dweights.doubles()](const Doubles& at) {
                return numeric::inner_product(weights,
                                              numeric::slow_router_weights(s, at, chosen.experts));
            },
            logits.doubles());
        EXPECT_LT(numeric::distance(dlogits, expected), 2e-6);
    }
}

// The loss of all tokens: experts x the sum of each expert's part of the choices times its mean
// probability, times the coefficient of a token for each.
TEST(RouterCpu, TheBalancingLossHasItsDerivative) {
    for (const RouterScore score : {RouterScore::softmax, RouterScore::sigmoid}) {
        Draw draw{5};
        const RouterShape s{.tokens = 7, .experts = 5, .k = 2, .score = score, .balanced = true};
        const Tensor logits = draw.tensor(s.tokens * s.experts, Dtype::fp32, -2, 2);
        const Chosen chosen = route(s, logits, Tensor{0, Dtype::fp32});
        const Tensor none{s.tokens * s.k, Dtype::fp32};
        constexpr double kOfToken = 0.3;
        Tensor dlogits{logits.size(), Dtype::fp32};
        router_backward(s,
                        none.view(),
                        logits.view(),
                        view_of(std::span<const std::int32_t>{chosen.experts}),
                        dlogits.view(),
                        static_cast<float>(kOfToken));
        const auto loss = [&](const Doubles& at) {
            double sum = 0;
            for (std::int64_t t = 0; t < s.tokens; ++t) {
                Doubles p;
                double all = 0;
                for (std::int64_t e = 0; e < s.experts; ++e) {
                    const double x = at[static_cast<std::size_t>(t * s.experts + e)];
                    p.push_back(score == RouterScore::softmax ? std::exp(x)
                                                              : 1 / (1 + std::exp(-x)));
                    all += p.back();
                }
                for (std::size_t e = 0; e < p.size(); ++e) {
                    const auto part = static_cast<double>(
                        std::ranges::count(chosen.experts, static_cast<std::int32_t>(e)));
                    sum += part / static_cast<double>(s.tokens * s.k) * p[e] / all;
                }
            }
            return kOfToken * static_cast<double>(s.experts) * sum;
        };
        const Doubles expected = numeric::numeric_gradient(loss, logits.doubles());
        EXPECT_LT(numeric::distance(dlogits, expected), 2e-6);
        EXPECT_GT(numeric::distance(dlogits, Doubles(expected.size())), 1e-3);
    }
}

TEST(RouterCpu, ABiasSelectsButDoesNotWeigh) {
    const RouterShape s{
        .tokens = 1, .experts = 4, .k = 2, .score = RouterScore::sigmoid, .biased = true};
    Tensor logits{4, Dtype::fp32};
    Tensor bias{4, Dtype::fp32};
    store(logits.view(), 0, 2.0f);
    store(logits.view(), 3, 2.0f);
    store(bias.view(), 1, 5.0f);
    const Chosen chosen = route(s, logits, bias);
    EXPECT_EQ(chosen.experts, (std::vector<std::int32_t>{1, 0}));  // of equal ones the first
    const double strong = 1 / (1 + std::exp(-2.0));
    EXPECT_NEAR(chosen.weights[0], 0.5 / (0.5 + strong), 1e-6);
    EXPECT_NEAR(chosen.weights[1], strong / (0.5 + strong), 1e-6);
}

// The best expert of all stands in a group whose two best are weaker than another group's.
TEST(RouterCpu, LimitsTheChoiceToTheBestGroups) {
    const RouterShape s{.tokens = 1, .experts = 6, .k = 2, .groups = 2, .kept_groups = 1};
    Tensor logits{6, Dtype::fp32};
    const std::array<float, 6> values{1.1f, -9.0f, -9.0f, 1.0f, 1.0f, 0.0f};
    for (std::int64_t i = 0; i < 6; ++i) {
        store(logits.view(), i, values[static_cast<std::size_t>(i)]);
    }
    EXPECT_EQ(route(s, logits, Tensor{0, Dtype::fp32}).experts, (std::vector<std::int32_t>{3, 4}));
}

// Probabilities of the chosen experts that are too small for fp32 still have a ratio.
TEST(RouterCpu, NormalisesTinyProbabilities) {
    const RouterShape s{.tokens = 1, .experts = 3, .k = 2, .biased = true};
    Tensor logits{3, Dtype::fp32};
    Tensor bias{3, Dtype::fp32};
    store(logits.view(), 0, 200.0f);
    store(logits.view(), 1, 1.0f);
    store(bias.view(), 1, 4.0f);
    store(bias.view(), 2, 3.0f);
    const Chosen chosen = route(s, logits, bias);
    EXPECT_EQ(chosen.experts, (std::vector<std::int32_t>{1, 2}));
    EXPECT_NEAR(chosen.weights[0], std::exp(1.0) / (std::exp(1.0) + 1), 1e-6);
}

TEST(RouterCpu, ChoosesExpertsThatExistWhateverTheLogitsAre) {
    const RouterShape s{.tokens = 1, .experts = 3, .k = 3};
    Tensor logits{3, Dtype::fp32};
    for (std::int64_t i = 0; i < 3; ++i) {
        store(logits.view(), i, std::numeric_limits<float>::quiet_NaN());
    }
    EXPECT_EQ(route(s, logits, Tensor{0, Dtype::fp32}).experts,
              (std::vector<std::int32_t>{0, 0, 0}));
}

}  // namespace
}  // namespace orrery::cpu
