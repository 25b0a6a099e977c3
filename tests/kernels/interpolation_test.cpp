// SPDX-License-Identifier: Apache-2.0
#include "kernels/interpolation.h"

#include <gtest/gtest.h>

#include <random>

namespace orrery {
namespace {

std::vector<MeasuredShape> grid(double (*ratio)(double, double)) {
    std::vector<MeasuredShape> rows;
    for (int i = 0; i < 7; ++i) {
        for (int j = 0; j < 7; ++j) {
            const double x = 7 + i;
            const double y = 7 + j;
            rows.push_back({.dims = {1 << (7 + i), 1 << (7 + j)},
                            .position = {x, y},
                            .seconds = 1,
                            .log_ratio = ratio(x, y),
                            .variance = 1e-5});
        }
    }
    return rows;
}

double smooth(double x, double y) {
    return 0.2 + 0.02 * (x - 10) - 0.03 * (y - 10);
}
double rough(double x, double y) {
    return std::sin(1000 * x + 777 * y) * 0.1;
}

TEST(Interpolation, PassesThroughExactMeasurements) {
    const auto rows = grid(smooth);
    const Smoothness smoothness = most_likely_smoothness(rows, 0.1);
    for (const MeasuredShape& row : rows) {
        const Correction found = interpolate(rows, smoothness, row.position, 0.1);
        EXPECT_NEAR(found.log_ratio, row.log_ratio, 0.005);
        EXPECT_TRUE(found.informed);
    }
}

TEST(Interpolation, RecognisesASmoothErrorAndFollowsItBetweenTheRows) {
    const auto rows = grid(smooth);
    const Smoothness smoothness = most_likely_smoothness(rows, 0.1);
    EXPECT_LE(smoothness.nugget, 0.02);
    const Correction found = interpolate(rows, smoothness, {10.5, 9.5}, 0.1);
    EXPECT_NEAR(found.log_ratio, smooth(10.5, 9.5), 0.01);
    EXPECT_LT(found.sigma, 0.05);
}

TEST(Interpolation, RecognisesNoiseAndDoesNotFollowIt) {
    const auto rows = grid(rough);
    const Smoothness smoothness = most_likely_smoothness(rows, 0.1);
    EXPECT_GE(smoothness.nugget, 0.3);
    const Correction found = interpolate(rows, smoothness, {10.5, 9.5}, 0.1);
    EXPECT_NEAR(found.log_ratio, 0, 0.08);
    EXPECT_GT(found.sigma, 0.04);
}

TEST(Interpolation, FarFromEveryRowItReturnsTowardsTheCurve) {
    const std::vector<MeasuredShape> rows{
        {.dims = {1024}, .position = {10}, .seconds = 1, .log_ratio = 0.3, .variance = 1e-4}};
    const Correction near = interpolate(rows, {}, {10.2}, 0.1);
    const Correction far = interpolate(rows, {}, {30}, 0.1);
    EXPECT_NEAR(near.log_ratio, 0.3, 0.02);
    EXPECT_TRUE(near.informed);
    EXPECT_LT(far.log_ratio, 0.1);
    EXPECT_FALSE(far.informed);
    EXPECT_GT(far.sigma, near.sigma);
}

}  // namespace
}  // namespace orrery
