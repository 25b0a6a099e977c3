// SPDX-License-Identifier: Apache-2.0
#include "models/plan/batch_shape.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(BatchShapes, TheBusiestDataParallelRank) {
    const BatchShape shape{
        .tokens = 10 + 700,
        .sampled = 10,
        .generating = 10,
        .generating_context = 1000,
        .chunks = {{.new_tokens = 100}, {.new_tokens = 400}, {.new_tokens = 200}}};
    const BatchShape share = share_of(shape, 2);
    EXPECT_EQ(share.generating, 5);
    EXPECT_EQ(share.generating_context, 500);
    EXPECT_EQ(share.tokens, 5 + 400 + 100);
    EXPECT_EQ(share_of(shape, 1), shape);
}

TEST(BatchShapes, AdaptersAreCountedOnce) {
    Batch batch;
    for (const std::int32_t adapter : {3, -1, 3, 7}) {
        batch.steps.push_back({.new_tokens = 1, .context = 9, .adapter = adapter});
    }
    const BatchShape shape = shape_of(batch);
    EXPECT_EQ(shape.adapters, 2);
    EXPECT_EQ(share_of(shape, 2).adapters, 2);
    EXPECT_EQ(share_of(shape, 4).adapters, 1) << "a rank has one sequence";
}

TEST(BatchShapes, ImagesAreThoseOfAllSequences) {
    Batch batch;
    batch.steps = {
        {.new_tokens = 9, .images = 2}, {.new_tokens = 5}, {.new_tokens = 7, .images = 3}};
    EXPECT_EQ(shape_of(batch).images, 5);
    EXPECT_EQ(share_of(shape_of(batch), 2).images, 3);
}

TEST(BatchShapes, AShapeIsWhatABatchCosts) {
    Batch batch;
    batch.steps = {{.new_tokens = 1, .context = 99, .samples = true},
                   {.new_tokens = 1, .context = 9, .samples = true},
                   {.new_tokens = 50, .context = 512},
                   {.new_tokens = 1, .context = 0, .samples = true}};
    EXPECT_EQ(shape_of(batch),
              (BatchShape{.tokens = 53,
                          .sampled = 3,
                          .generating = 2,
                          .generating_context = 110,
                          .chunks = {{.new_tokens = 50, .context = 512},
                                     {.new_tokens = 1, .context = 0}}}));
}

}  // namespace
}  // namespace orrery
