// SPDX-License-Identifier: Apache-2.0
#include "runtime/bound_op.h"

#include <gtest/gtest.h>

#include "models/layout.h"

namespace orrery {
namespace {

TEST(LocalShape, IsTheRanksPartOfTheSequenceAndItsPlace) {
    Program program;
    program.mesh = Mesh{{{"tp", 4}, {"dp", 2}}};
    const Tensor tensor{
        .name = "x", .global_shape = {64, 6, 32}, .layout = {sharded(kSequence), sharded(kBatch)}};
    const LocalShape local = local_shape(program, RankId{4 + 3}, tensor);
    EXPECT_EQ(local.sequence, 16);
    EXPECT_EQ(local.batch, 3);
    EXPECT_EQ(local.width, 32);
    EXPECT_EQ(local.positions.of(0), 48);
    EXPECT_EQ(local.positions.of(15), 63);
}

}  // namespace
}  // namespace orrery
