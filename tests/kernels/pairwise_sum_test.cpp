// SPDX-License-Identifier: Apache-2.0
#include "kernels/pairwise_sum.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery {
namespace {

std::vector<float> vector_numbers(std::size_t seed) {
    std::vector<float> values(37);
    auto state = static_cast<std::uint32_t>(seed * 2654435761U + 1);
    for (float& value : values) {
        state = state * 1664525U + 1013904223U;
        value = static_cast<float>(state >> 8) / (1 << 20) - 7.0f;
    }
    return values;
}

std::vector<float> pairwise_sum_of(const std::vector<std::vector<float>>& vectors) {
    PairwiseSum sum{vectors.front().size()};
    for (const std::vector<float>& one : vectors) {
        std::ranges::copy(one, sum.next().begin());
        sum.add_next();
    }
    const auto total = sum.total();
    return {total.begin(), total.end()};
}

TEST(PairwiseSum, AddsUpEqualPartsFirstWithTheSameBits) {
    std::vector<std::vector<float>> all;
    for (std::size_t i = 0; i < 8; ++i) {
        all.push_back(vector_numbers(i));
    }
    const std::vector<float> whole = pairwise_sum_of(all);
    for (const std::size_t part : {1U, 2U, 4U, 8U}) {
        std::vector<std::vector<float>> parts;
        for (std::size_t first = 0; first < 8; first += part) {
            parts.push_back(
                pairwise_sum_of({all.begin() + static_cast<std::ptrdiff_t>(first),
                                 all.begin() + static_cast<std::ptrdiff_t>(first + part)}));
        }
        EXPECT_EQ(pairwise_sum_of(parts), whole) << part;
    }
}

TEST(PairwiseSum, TakesAnyNumberOfVectors) {
    for (std::size_t count = 1; count <= 9; ++count) {
        std::vector<std::vector<float>> all;
        std::vector<double> expected(37);
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(vector_numbers(i));
            for (std::size_t e = 0; e < expected.size(); ++e) {
                expected[e] += static_cast<double>(all.back()[e]);
            }
        }
        const std::vector<float> total = pairwise_sum_of(all);
        for (std::size_t e = 0; e < expected.size(); ++e) {
            EXPECT_NEAR(total[e], expected[e], 1e-4);
        }
    }
}

}  // namespace
}  // namespace orrery
