// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/row_permutation.h"

#include <gtest/gtest.h>

#include "kernels/cast/cast.h"
#include "tests/models/lowered_experts.h"

namespace orrery {
namespace {

// index_add_ and scatter_add_ find the place of each element; index_select and gather copy rows.
TEST(RowPermutation, OperatorsOfPyTorchSumRowsElementByElement) {
    ParallelPlan plan = four_ranks();
    const auto one_by_one = [&](std::string_view name) {
        const Program program = verified(small_experts(), plan);
        bool all = count_ops(program, name) > 0;
        for (const Segment& segment : program.segments) {
            for (const Op& op : segment.ops) {
                const bool named = program.names[op.name] == name;
                all &= !named || converts_one_by_one(program.kernels[index(op.payload.kernel())]);
            }
        }
        return all;
    };
    const Program fused = verified(small_experts(), plan);
    EXPECT_EQ(count_ops(fused, "permute operators"), 0);
    EXPECT_FALSE(one_by_one("unpermute"));
    plan.moe_permute_fusion = false;
    const Program program = verified(small_experts(), plan);
    EXPECT_EQ(count_ops(program, "permute operators"), count_ops(program, "permute"));
    EXPECT_EQ(count_ops(program, "unpermute operators"), count_ops(program, "unpermute"));
    EXPECT_TRUE(one_by_one("unpermute"));
    EXPECT_TRUE(one_by_one("permute backward"));
    EXPECT_FALSE(one_by_one("permute"));
    EXPECT_FALSE(one_by_one("unpermute backward"));
}

// Megatron-Core's all-gather moves rows by token and by expert, each time element by element.
TEST(RowPermutation, OperatorsMoveGatheredRowsTwice) {
    ParallelPlan plan = four_ranks();
    plan.moe_token_dispatcher_type = TokenDispatcher::allgather;
    const Program fused = verified(small_experts(), plan);
    plan.moe_permute_fusion = false;
    const Program program = verified(small_experts(), plan);
    for (const char* move : {"permute", "permute backward", "unpermute", "unpermute backward"}) {
        EXPECT_GT(count_ops(fused, move), 0) << move;
        EXPECT_EQ(count_ops(program, move), count_ops(fused, move)) << move;
    }
    for (const char* first : {"rows by token",
                              "rows by token backward",
                              "unpermute by token",
                              "unpermute by token backward",
                              "weighed rows",
                              "weighed rows backward"}) {
        EXPECT_EQ(count_ops(fused, first), 0) << first;
        EXPECT_EQ(count_ops(program, first), count_ops(program, "permute")) << first;
    }
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (program.names[op.name].ends_with("permute")) {
                EXPECT_TRUE(converts_one_by_one(program.kernels[index(op.payload.kernel())]));
            }
        }
    }
}

}  // namespace
}  // namespace orrery
