// SPDX-License-Identifier: Apache-2.0
#include "models/plan/layout_assignment.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(LayoutAssignment, LeavesAxesOfSizeOneReplicated) {
    const LayoutAssignment a =
        assign_layouts({.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params});
    for (const Layout& layout : {a.residual, a.query, a.tokens, a.column_weight, a.embedding}) {
        EXPECT_EQ(layout, Layout(4));
    }
    EXPECT_FALSE(a.state.by_unit());  // no other rank to share with
    EXPECT_FALSE(a.stream_key_value);
}

TEST(LayoutAssignment, PutsEachParallelismOnItsOwnDimension) {
    const LayoutAssignment a = assign_layouts({.tensor_model_parallel_size = 2,
                                               .context_parallel_size = 2,
                                               .data_parallel_size = 2,
                                               .sequence_parallel = true});
    EXPECT_EQ(
        a.residual,
        (Layout{sharded(kSequence), sharded_mirrored(kSequence), sharded(kBatch), replicated()}));
    EXPECT_EQ(
        a.query,
        (Layout{sharded(kWidth), sharded_mirrored(kSequence), sharded(kBatch), replicated()}));
    EXPECT_EQ(a.column_weight[0], sharded(kOutput));
    EXPECT_EQ(a.row_weight[0], sharded(kInput));
    EXPECT_EQ(a.state.data_digits, 0b0110u);
    EXPECT_TRUE(a.stream_key_value);
}

// Both digits of the tensor-parallel axis cut what the axis would; key-value heads are whole.
TEST(LayoutAssignment, RanksThatShareAHeadAreReplicasOfIt) {
    const LayoutAssignment a = assign_layouts(
        {.tensor_model_parallel_size = 4, .context_parallel_size = 2, .data_parallel_size = 2}, 2);
    const std::uint32_t low = a.mesh.digit("tpq");
    const std::uint32_t high = a.mesh.digit("tpk");
    for (const Layout& layout : {a.query, a.column_weight, a.row_weight, a.embedding}) {
        EXPECT_EQ(layout[low], layout[high]);
        EXPECT_EQ(layout[low].placement, Placement::shard);
    }
    EXPECT_EQ(a.key_value[low], replicated());
    EXPECT_EQ(a.key_value[high], sharded(kWidth));
    EXPECT_EQ(cutting_order(kWidth, a.mesh)[0], high);
    EXPECT_EQ(cutting_order(kWidth, a.mesh)[1], low);
    const LayoutAssignment only = assign_layouts({.tensor_model_parallel_size = 4}, 4);
    EXPECT_EQ(only.mesh.digits().size(), assign_layouts({}).mesh.digits().size());
    EXPECT_EQ(only.query[only.mesh.digit("tp")], sharded(kWidth));
    EXPECT_EQ(only.key_value[only.mesh.digit("tp")], replicated());
}

}  // namespace
}  // namespace orrery
