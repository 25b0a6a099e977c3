// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/paged_cache.h"

#include <gtest/gtest.h>

#include <numeric>

namespace orrery {
namespace {

TEST(PagedCache, RowsComeBackInTheOrderOfTheTokens) {
    PagedCache cache{2, 6, 2, 3};
    for (const std::vector<KvBlock>& blocks :
         {std::vector<KvBlock>{5, 1, 3}, std::vector<KvBlock>{2, 3, 4}}) {
        for (std::int64_t token = 0; token < 5; ++token) {
            const std::span<float> row = cache.row(1, blocks, token);
            std::iota(row.begin(), row.end(), static_cast<float>(10 * token));
        }
        std::vector<float> copy;
        const auto rows = floats(cache.rows(1, blocks, 5, copy));
        ASSERT_EQ(rows.size(), 15u);
        EXPECT_EQ(copy.empty(), blocks[1] == blocks[0] + 1);  // in place where it can be
        for (std::size_t i = 0; i < rows.size(); ++i) {
            EXPECT_EQ(rows[i], static_cast<float>(10 * (i / 3) + i % 3));
        }
    }
    std::vector<float> copy;
    const std::vector<KvBlock> other{6};
    EXPECT_EQ(floats(cache.rows(0, other, 2, copy))[0], 0.0f);
}

}  // namespace
}  // namespace orrery
