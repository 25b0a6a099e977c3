// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/token_tiles.h"

#include <gtest/gtest.h>

#include "kernels/gemm/gemm.h"
#include "models/plan/layout_assignment.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

class TokenTilesTest : public testing::Test {
protected:
    TokenTilesTest() { model_.seq_length = 1000; }

    Transformer model_ = gpt(1, 64, 4, 32, 128);
    ParallelPlan plan_;
    LayoutAssignment layouts_ = assign_layouts(plan_);
    Program program_;
    ProgramTables tables_{program_};
    BlockBuilder b_{tables_, model_, plan_, layouts_, "segment"};
};

TEST_F(TokenTilesTest, AreEqualAndAtMostAsLargeAsAsked) {
    const Value x = b_.value("x", 64, layouts_.tokens, Lifetime::slot);
    const auto tokens = [&](std::int64_t asked) {
        const TokenTiles tiles{b_, x, asked};
        return std::pair{tiles.count(), b_.local_tokens(tiles.part_of(x))};
    };
    EXPECT_EQ(tokens(0), (std::pair<std::int64_t, std::int64_t>{1, 1000}));
    EXPECT_EQ(tokens(1000), (std::pair<std::int64_t, std::int64_t>{1, 1000}));
    EXPECT_EQ(tokens(500), (std::pair<std::int64_t, std::int64_t>{2, 500}));
    EXPECT_EQ(tokens(300), (std::pair<std::int64_t, std::int64_t>{4, 250}));
    EXPECT_EQ(tokens(400), (std::pair<std::int64_t, std::int64_t>{3, 334}));
}

TEST_F(TokenTilesTest, TakeAPieceOfWholeValuesAndAllOfABuffer) {
    const Value x = b_.value("x", 64, layouts_.tokens, Lifetime::slot);
    const TokenTiles tiles{b_, x, 250};
    const Value buffer = tiles.buffer("buffer", 32, Dtype::bf16, TensorKind::activations);
    EXPECT_EQ(program_.tensors[index(buffer.tensor)].bytes, Bytes{250 * 32 * 2});
    const Value part = tiles.part_of(x);
    tiles.kernel("op",
                 2,
                 gemm(1, 1, 1, 1, Dtype::bf16, GemmEpilogue::none, Dtype::bf16),
                 Cause::gemm_inefficiency,
                 {&part},
                 {&buffer});
    const Segment& segment = program_.segments[index(b_.ops.finish())];
    ASSERT_EQ(segment.ops[0].num_operands, 2U);
    const Operand& read = program_.operands[segment.ops[0].first_operand];
    const Operand& written = program_.operands[segment.ops[0].first_operand + 1];
    EXPECT_EQ(read.piece, 2);
    EXPECT_EQ(read.pieces, 4);
    EXPECT_EQ(written.pieces, 1);
}

}  // namespace
}  // namespace orrery
