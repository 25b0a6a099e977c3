// SPDX-License-Identifier: Apache-2.0
#include "kernels/expert_rows/expert_rows_cpu.h"

#include <cmath>
#include <numeric>

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

TensorView rows_int_view(std::vector<std::int32_t>& values) {
    return {reinterpret_cast<std::byte*>(values.data()),
            Dtype::int32,
            static_cast<std::int64_t>(values.size())};
}

// k different experts of each token.
std::vector<std::int32_t> draw_choices(Draw& draw, const ExpertRows& s) {
    std::vector<std::int32_t> chosen;
    for (std::int64_t t = 0; t < s.tokens; ++t) {
        const std::int64_t first = draw.between(0, s.experts - 1);
        for (std::int64_t j = 0; j < s.k; ++j) {
            chosen.push_back(static_cast<std::int32_t>((first + j * 3) % s.experts));
        }
    }
    return chosen;
}

// By sorting (expert, token) pairs.
std::vector<std::size_t> slow_order(const std::vector<std::int32_t>& chosen) {
    std::vector<std::size_t> order(chosen.size());
    std::iota(order.begin(), order.end(), 0U);
    std::erase_if(order, [&](std::size_t i) { return chosen[i] < 0; });
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return chosen[i]; });
    return order;
}

TEST(ExpertRowsCpu, RowsAreOrderedByExpertAndComeBackAsSums) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const ExpertRows s{.tokens = draw.between(1, 20),
                               .width = draw.between(1, 9),
                               .k = draw.between(1, 3),
                               .experts = 10,
                               .weights = true};
            std::vector<std::int32_t> chosen = draw_choices(draw, s);
            if (seed % 2 == 0) {
                chosen[static_cast<std::size_t>(draw.between(0, s.tokens * s.k - 1))] = -1;
            }
            const Tensor x = draw.tensor(s.tokens * s.width, dtype);
            const Tensor weights = draw.tensor(s.tokens * s.k, Dtype::fp32);
            Tensor rows{s.tokens * s.k * s.width, dtype};
            Tensor row_weights{s.tokens * s.k, Dtype::fp32};
            permute(s,
                    x.view(),
                    weights.view(),
                    view_of(std::span<const std::int32_t>{chosen}),
                    rows.view(),
                    row_weights.view());
            const std::vector<std::size_t> order = slow_order(chosen);
            Doubles sums(static_cast<std::size_t>(x.size()));
            for (std::size_t row = 0; row < order.size(); ++row) {
                const auto token = static_cast<std::int64_t>(order[row]) / s.k;
                const auto r = static_cast<std::int64_t>(row);
                EXPECT_EQ(load(row_weights.view(), r),
                          load(weights.view(), static_cast<std::int64_t>(order[row])));
                for (std::int64_t i = 0; i < s.width; ++i) {
                    const float value = load(rows.view(), r * s.width + i);
                    ASSERT_EQ(value, load(x.view(), token * s.width + i));
                    sums[static_cast<std::size_t>(token * s.width + i)] += value;
                }
            }
            Tensor y{x.size(), dtype};
            Tensor back{weights.size(), Dtype::fp32};
            unpermute(s,
                      rows.view(),
                      row_weights.view(),
                      view_of(std::span<const std::int32_t>{chosen}),
                      y.view(),
                      back.view());
            const double norm = std::sqrt(numeric::inner_product(sums, sums));
            EXPECT_LE(numeric::distance(y, sums), numeric::tolerance(dtype) * norm);
            for (std::size_t i = 0; i < chosen.size(); ++i) {
                const auto at = static_cast<std::int64_t>(i);
                EXPECT_EQ(load(back.view(), at), chosen[i] < 0 ? 0 : load(weights.view(), at));
            }
        }
    }
}

TEST(ExpertRowsCpu, ACapacityDropsTheTokensThatWeighLeast) {
    std::vector<std::int32_t> chosen{0, 1, 0, 2, 0, 1, 0, 2};
    std::vector<float> weights{0.5f, 0.5f, 0.9f, 0.1f, 0.2f, 0.8f, 0.5f, 0.5f};
    std::vector<std::int32_t> counts(4, -7);
    std::vector<std::int32_t> kept(8, -7);
    std::vector<float> load(8, 1.0f);
    expert_counts({.tokens = 4, .experts = 4, .k = 2, .capacity = 2},
                  rows_int_view(chosen),
                  view_of(std::span{weights}),
                  rows_int_view(counts),
                  rows_int_view(kept),
                  view_of(std::span{load}));
    EXPECT_EQ(counts, (std::vector<std::int32_t>{2, 2, 2, 0}));
    EXPECT_EQ(kept, (std::vector<std::int32_t>{0, 1, 0, 2, -1, 1, -1, 2}));
    EXPECT_EQ(load, (std::vector<float>{5, 3, 3, 1, 3, 3, 3, 1}));  // chosen, then taken; added
}

TEST(ExpertRowsCpu, WithoutACapacityEveryTokenIsTaken) {
    std::vector<std::int32_t> chosen{3, 1, 3, 0, 3, 2};
    std::vector<std::int32_t> counts(4);
    expert_counts({.tokens = 3, .experts = 4, .k = 2},
                  rows_int_view(chosen),
                  {},
                  rows_int_view(counts),
                  {},
                  {});
    EXPECT_EQ(counts, (std::vector<std::int32_t>{1, 1, 1, 3}));
}

// The golden case of Wang et al.'s algorithm: loads 10, 2, 4, 0 of mean 4.
TEST(ExpertRowsCpu, BiasesGoAgainstTheLoad) {
    std::vector<float> load{10, 2, 4, 0, 9, 9, 9, 9};
    std::vector<float> bias{0, 0, 0, 1};
    expert_bias(4, 0.001f, view_of(std::span{load}), view_of(std::span{bias}));
    EXPECT_EQ(bias, (std::vector<float>{-0.001f, 0.001f, 0, 1.001f}));
}

}  // namespace
}  // namespace orrery::cpu
