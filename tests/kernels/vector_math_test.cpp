// SPDX-License-Identifier: Apache-2.0
#include "kernels/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/numeric.h"

namespace orrery {
namespace {

TEST(Exponential, IsWithinTwoUnitsInTheLastPlace) {
    double worst = 0;
    for (float x = -87.0f; x < 88.0f; x += 0.00137f) {
        const double exact = std::exp(static_cast<double>(x));
        worst = std::max(worst, std::fabs(static_cast<double>(exponential(x)) / exact - 1.0));
    }
    EXPECT_LT(worst, 2 * 0x1p-23);
    EXPECT_GT(worst, 0.0);
    EXPECT_EQ(exponential(0.0f), 1.0f);
}

TEST(Exponential, EndsInZeroInfinityAndNaN) {
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(exponential(-infinity), 0.0f);
    EXPECT_EQ(exponential(-1e30f), 0.0f);
    EXPECT_EQ(exponential(infinity), infinity);
    EXPECT_EQ(exponential(1e30f), infinity);
    EXPECT_TRUE(std::isnan(exponential(std::nanf(""))));
}

TEST(RowSums, AreThoseOfFloat64) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        numeric::Draw draw{seed};
        const std::int64_t n = draw.between(0, 130);
        const numeric::Tensor a = draw.tensor(n, Dtype::fp32);
        const numeric::Tensor b = draw.tensor(n, Dtype::fp32);
        double expected_sum = 0;
        double expected_dot = 0;
        double expected_maximum = -std::numeric_limits<double>::infinity();
        for (std::int64_t i = 0; i < n; ++i) {
            expected_sum += a.at(i);
            expected_dot += a.at(i) * b.at(i);
            expected_maximum = std::max(expected_maximum, a.at(i));
        }
        EXPECT_NEAR(sum(floats(a.view())), expected_sum, 2e-6);
        EXPECT_NEAR(dot(floats(a.view()), floats(b.view())), expected_dot, 2e-6);
        EXPECT_EQ(static_cast<double>(maximum(floats(a.view()))), expected_maximum);
    }
}

TEST(RowSums, AddElementsInSixteenLanes) {
    // 1 + 2^-24 rounds to 1; sixteen places apart they share a lane, else the tree joins them.
    std::vector<float> x(33, 0.0f);
    x[0] = 1.0f;
    x[16] = x[32] = 0x1p-24f;
    EXPECT_EQ(sum(x), 1.0f);
    x[16] = x[32] = 0.0f;
    x[8] = x[24] = 0x1p-24f;
    EXPECT_EQ(sum(x), 1.0f + 0x1p-23f);
}

TEST(Exponentials, ReplaceARowAndReturnItsSum) {
    std::vector<float> x{1.0f, 2.0f, -std::numeric_limits<float>::infinity()};
    const float total = exponentials(x, 2.0f);
    EXPECT_NEAR(x[0], std::exp(-1.0), 1e-7);
    EXPECT_EQ(x[1], 1.0f);
    EXPECT_EQ(x[2], 0.0f);
    EXPECT_EQ(total, x[0] + 1.0f);
}

}  // namespace
}  // namespace orrery
