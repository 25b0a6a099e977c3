// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/numeric.h"

namespace orrery {
namespace {

TEST(Bf16, EveryNumberSurvivesTheWayThroughFloat) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        if (!std::isnan(float_of_bf16(half))) {
            ASSERT_EQ(bf16_of_float(float_of_bf16(half)), half) << bits;
        }
    }
}

// Against the definition: the nearer neighbour, or the one whose last bit is 0.
TEST(Bf16, RoundsToTheNearerNeighbourAndTiesToEven) {
    numeric::Draw draw{11};
    for (int i = 0; i < 20000; ++i) {
        const auto low = static_cast<std::uint16_t>(draw.between(1, 0x7F00));
        const double below = static_cast<double>(float_of_bf16(low));
        const double above =
            static_cast<double>(float_of_bf16(static_cast<std::uint16_t>(low + 1)));
        const double share = static_cast<double>(draw.between(0, 8)) / 8.0;
        const double x = below + share * (above - below);
        const bool up = share > 0.5 || (share == 0.5 && low % 2 == 1);
        ASSERT_EQ(bf16_of_float(static_cast<float>(x)), low + (up ? 1 : 0)) << x;
        ASSERT_EQ(bf16_of_float(static_cast<float>(-x)), 0x8000 + low + (up ? 1 : 0)) << x;
    }
}

TEST(Bf16, KeepsInfinityAndNaN) {
    EXPECT_EQ(bf16_of_float(std::numeric_limits<float>::infinity()), 0x7F80);
    EXPECT_TRUE(std::isnan(float_of_bf16(bf16_of_float(std::bit_cast<float>(0x7F800001u)))));
    EXPECT_TRUE(std::isnan(float_of_bf16(bf16_of_float(std::bit_cast<float>(0xFFFFFFFFu)))));
    EXPECT_EQ(bf16_of_float(std::numeric_limits<float>::max()), 0x7F80);
}

TEST(TensorView, RowsAreTheElements) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        numeric::Draw draw{3};
        const numeric::Tensor from = draw.tensor(37, dtype);
        numeric::Tensor to{37, dtype};
        std::vector<float> row(20);
        load_row(from.view(), 5, row);
        for (std::int64_t i = 0; i < 20; ++i) {
            EXPECT_EQ(row[static_cast<std::size_t>(i)], load(from.view(), 5 + i));
        }
        store_row(to.view(), 7, row);
        EXPECT_EQ(load(to.view(), 6), 0.0f);
        EXPECT_EQ(load(to.view(), 7), load(from.view(), 5));
        EXPECT_EQ(load(to.view(), 26), load(from.view(), 24));
        EXPECT_EQ(load(to.view(), 27), 0.0f);
        EXPECT_EQ(load(slice(from.view(), 9, 4), 2), load(from.view(), 11));
    }
}

}  // namespace
}  // namespace orrery
