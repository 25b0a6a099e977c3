// SPDX-License-Identifier: Apache-2.0
// Products of groups have the bits of the products of each group.
#include "kernels/gemm/grouped_gemm_cpu.h"

#include <gtest/gtest.h>

#include <vector>

namespace orrery::cpu {
namespace {

TensorView view(std::vector<float>& values) {
    return {reinterpret_cast<std::byte*>(values.data()),
            Dtype::fp32,
            static_cast<std::int64_t>(values.size())};
}

std::vector<float> numbers(std::size_t count, unsigned seed) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = static_cast<float>(seed >> 8) / (1 << 24) - 0.5f;
    }
    return values;
}

constexpr std::int64_t kN = 5;
constexpr std::int64_t kK = 7;
const std::vector<std::int64_t> kRows{3, 0, 1, 6};

TEST(GroupedGemmCpu, EveryGroupHasItsOwnWeights) {
    for (const bool transposed : {false, true}) {
        std::vector<float> a = numbers(10 * kK, 1);
        std::vector<float> b = numbers(4 * kK * kN, 2);
        std::vector<float> c = numbers(10 * kN, 3);
        const std::vector<float> before = c;
        grouped_gemm({.rows = kRows, .n = kN, .k = kK, .transpose_b = transposed},
                     view(a),
                     view(b),
                     view(c),
                     true);
        std::int64_t row = 0;
        for (std::size_t group = 0; group < kRows.size(); ++group) {
            for (std::int64_t i = 0; i < kRows[group]; ++i, ++row) {
                for (std::int64_t n = 0; n < kN; ++n) {
                    double sum = before[static_cast<std::size_t>(row * kN + n)];
                    for (std::int64_t k = 0; k < kK; ++k) {
                        const std::int64_t weight = static_cast<std::int64_t>(group) * kK * kN +
                                                    (transposed ? n * kK + k : k * kN + n);
                        sum += a[static_cast<std::size_t>(row * kK + k)] *
                               b[static_cast<std::size_t>(weight)];
                    }
                    EXPECT_NEAR(c[static_cast<std::size_t>(row * kN + n)], sum, 1e-5);
                }
            }
        }
        EXPECT_EQ(row, 10);
    }
}

TEST(GroupedGemmCpu, GradientsOfWeights) {
    for (const bool transposed : {false, true}) {
        std::vector<float> a = numbers(10 * kK, 1);
        std::vector<float> dc = numbers(10 * kN, 2);
        std::vector<float> db(4 * kK * kN, 7);
        const GroupedGemmShape shape{.rows = kRows, .n = kN, .k = kK, .transpose_b = transposed};
        grouped_gemm_weights(shape, view(a), view(dc), view(db));
        const auto at = [&](std::int64_t group, std::int64_t k, std::int64_t n) {
            return db[static_cast<std::size_t>(group * kK * kN +
                                               (transposed ? n * kK + k : k * kN + n))];
        };
        double sum = 0;
        for (std::size_t row = 4; row < 10; ++row) {
            sum += a[row * kK + 2] * dc[row * kN + 3];
        }
        EXPECT_NEAR(at(3, 2, 3), sum, 1e-5);
        EXPECT_EQ(at(1, 0, 0), 0);  // no tokens
        EXPECT_NEAR(at(2, 6, 4), a[3 * kK + 6] * dc[3 * kN + 4], 1e-6);
        const std::vector<float> once = db;
        grouped_gemm_weights(shape, view(a), view(dc), view(db), true);
        EXPECT_NEAR(at(3, 2, 3), 2 * sum, 1e-5);
        EXPECT_EQ(at(1, 0, 0), 0);
    }
}

}  // namespace
}  // namespace orrery::cpu
