// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/paged_batch.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using Numbers = std::vector<std::int32_t>;

TEST(PagedBatch, SingleTokensComeFirstAndSamplesKeepTheChunksOrder) {
    const std::vector<DecodeChunk> chunks{
        {.tokens = {5, 6, 7}, .context = 2, .blocks = {3, 1}, .samples = true},
        {.tokens = {9}, .context = 4, .blocks = {2, 6}, .samples = true, .adapter = 3},
        {.tokens = {8}, .context = 0, .blocks = {4}}};
    const PagedBatch batch = paged_batch(chunks, 4, 3);
    EXPECT_EQ(batch.rows, 5);
    EXPECT_EQ(batch.single_rows, 2);
    EXPECT_EQ(batch.tokens, (Numbers{9, 8, 5, 6, 7}));
    EXPECT_EQ(batch.positions, (Numbers{4, 0, 2, 3, 4}));
    EXPECT_EQ(batch.slots, (Numbers{20, 12, 10, 11, 0}));
    EXPECT_EQ(batch.adapters, (Numbers{3, -1, -1, -1, -1}));
    EXPECT_EQ(batch.contexts, (Numbers{5, 1}));
    EXPECT_EQ(batch.tables, (Numbers{1, 5, 0, 3, 0, 0, 2, 0, 0}));
    EXPECT_EQ(batch.samples, (Numbers{4, 0}));
    ASSERT_EQ(batch.prompts.size(), 1u);
    EXPECT_EQ(batch.prompts[0].first_row, 2);
    EXPECT_EQ(batch.prompts[0].tokens, 3);
    EXPECT_EQ(batch.prompts[0].context, 2);
    EXPECT_EQ(batch.prompts[0].table, 2);
}

TEST(PagedBatch, PaddedRowsAreStoredNowhereAndSeeNothing) {
    PagedBatch batch = paged_batch(
        std::vector<DecodeChunk>{{.tokens = {9}, .context = 4, .blocks = {2, 6}}}, 4, 2);
    pad_rows(batch, 3, 2);
    EXPECT_EQ(batch.rows, 3);
    EXPECT_EQ(batch.single_rows, 3);
    EXPECT_EQ(batch.slots, (Numbers{20, -1, -1}));
    EXPECT_EQ(batch.adapters, (Numbers{-1, -1, -1}));
    EXPECT_EQ(batch.contexts, (Numbers{5, 0, 0}));
    EXPECT_EQ(batch.tables, (Numbers{1, 5, 0, 0, 0, 0}));

    // Beside prompts the rows of single tokens stay as they are: attention takes their number.
    PagedBatch mixed = paged_batch(
        std::vector<DecodeChunk>{{.tokens = {9, 1}, .blocks = {2}}, {.tokens = {3}, .blocks = {1}}},
        4,
        1);
    pad_rows(mixed, 4, 1);
    EXPECT_EQ(mixed.rows, 4);
    EXPECT_EQ(mixed.single_rows, 1);
    EXPECT_EQ(mixed.contexts, (Numbers{1}));
    EXPECT_EQ(mixed.tables, (Numbers{0, 1}));
    EXPECT_EQ(mixed.tokens, (Numbers{3, 9, 1, 0}));
}

}  // namespace
}  // namespace orrery
