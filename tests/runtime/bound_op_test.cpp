// SPDX-License-Identifier: Apache-2.0
#include "runtime/bound_op.h"

#include <gtest/gtest.h>

#include "models/plan/layout.h"

namespace orrery {
namespace {

TEST(LocalShape, IsTheRanksPartOfTheSequenceAndItsPlace) {
    Program program;
    program.parties.front().mesh = Mesh{{{"tp", 4}, {"dp", 2}}};
    const Tensor tensor{
        .name = "x", .global_shape = {64, 6, 32}, .layout = {sharded(kSequence), sharded(kBatch)}};
    const LocalShape local = local_shape(program, RankId{4 + 3}, tensor);
    EXPECT_EQ(local.sequence, 16);
    EXPECT_EQ(local.batch, 3);
    EXPECT_EQ(local.width, 32);
    EXPECT_EQ(local.positions.of(0), 48);
    EXPECT_EQ(local.positions.of(15), 63);
}

// Every token of the sequence stands on one rank, each rank has as much to do under a causal mask,
// and sequence-parallel ranks have neighbouring parts of what their context-parallel group has.
TEST(TokenPositions, OfMirroredPiecesCoverTheSequence) {
    for (const std::uint32_t tp : {1, 2, 3}) {
        for (const std::uint32_t cp : {2, 4}) {
            Program program;
            program.parties.front().mesh = Mesh{{{"tp", tp}, {"cp", cp}}};
            const std::int64_t length = 48;
            const Tensor tensor{.name = "x",
                                .global_shape = {length, 1, 4},
                                .layout = {sharded(kSequence), sharded_mirrored(kSequence)}};
            std::vector<int> seen(static_cast<std::size_t>(length));
            for (std::uint32_t c = 0; c < cp; ++c) {
                std::int64_t visible = 0;
                std::int64_t last = -1;
                for (std::uint32_t t = 0; t < tp; ++t) {
                    const SequencePositions own =
                        token_positions(program, static_cast<RankId>(t + tp * c), tensor);
                    EXPECT_EQ(own.length, length / tp / cp);
                    for (std::int64_t i = 0; i < own.length; ++i) {
                        EXPECT_GT(own.of(i), last);
                        last = own.of(i);
                        ++seen[static_cast<std::size_t>(last)];
                        visible += last + 1;
                    }
                }
                EXPECT_EQ(visible, length * (length + 1) / 2 / cp);
            }
            EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(length), 1));
        }
    }
}

TEST(TokenPositions, OfABlockOnItsWayAreThoseOfItsOwner) {
    Program program;
    program.parties.front().mesh = Mesh{{{"cp", 4}}};
    Tensor own{.name = "x", .global_shape = {64, 1, 4}, .layout = {sharded_mirrored(kSequence)}};
    Tensor block = own;
    block.layout = from_neighbour(own.layout, 0, -1, program.mesh());
    EXPECT_EQ(token_positions(program, RankId{0}, block), token_positions(program, RankId{3}, own));
    EXPECT_EQ(token_positions(program, RankId{2}, block), token_positions(program, RankId{1}, own));
    block.layout = from_neighbour(block.layout, 0, 1, program.mesh());
    EXPECT_EQ(block.layout, own.layout);
}

}  // namespace
}  // namespace orrery
