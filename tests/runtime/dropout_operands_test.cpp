// SPDX-License-Identifier: Apache-2.0
// That these places drop the same elements under every layout is tested where models train:
// cpu/cpu_dropout_test.cpp.
#include "runtime/dropout_operands.h"

#include <gtest/gtest.h>

#include "models/plan/layout.h"

namespace orrery {
namespace {

// Rank 3 of two tensor-parallel by two data-parallel ranks, in its second micro-batch.
TEST(DropoutOperands, APlaceCountsTheMicroBatchesOfAllDataRanks) {
    Program program;
    program.parties.front().mesh = Mesh{{{"tp", 2}, {"dp", 2}}};
    const KernelCall call{.kind = KernelKind::dropout};
    const BoundOp op{
        .program = program, .rank = RankId{3}, .call = call, .micro_batch = 1, .reads = {}};
    Tensor mask{
        .name = "mask", .global_shape = {8, 4, 32}, .layout = {sharded(kWidth), sharded(kBatch)}};
    mask.random_purpose = static_cast<std::int8_t>(RandomPurpose::mlp_dropout);
    mask.random_stream = 5;
    const RandomKey place = dropout_place(op, mask);
    EXPECT_EQ(place.purpose, RandomPurpose::mlp_dropout);
    EXPECT_EQ(place.stream, 5u);
    EXPECT_EQ(place.round, 3u);  // micro-batch 1 of two ranks, the second of them
    EXPECT_EQ(place.seed, 0u);
    const ValueShard shard = value_shard(op, {.tensor = &mask});
    EXPECT_EQ(shard.first_column, 16);
    EXPECT_EQ(shard.width, 16);
    EXPECT_EQ(shard.global_width, 32);
    EXPECT_EQ(shard.batch, 2);
}

}  // namespace
}  // namespace orrery
