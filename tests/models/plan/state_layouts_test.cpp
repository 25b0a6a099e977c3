// SPDX-License-Identifier: Apache-2.0
#include "models/plan/state_layouts.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

struct Held {
    Mesh mesh;
    StateLayouts state;

    // The ranks that share a state, each with a part.
    std::int64_t weights() const { return StateLayouts::parts(state.weights, mesh); }
    std::int64_t secondary() const { return StateLayouts::parts(state.secondary_weights, mesh); }
    std::int64_t gradients() const { return StateLayouts::parts(state.gradients, mesh); }
    std::int64_t optimizer() const { return StateLayouts::parts(state.optimizer, mesh); }
};

Held held(const ParallelPlan& plan) {
    const RankMesh ranks = digits_of_plan(plan);
    return {ranks.mesh, state_layouts(plan, ranks)};
}

ParallelPlan eight_ranks(ShardingStrategy strategy) {
    return {.tensor_model_parallel_size = 2,
            .data_parallel_size = 8,
            .data_parallel_sharding_strategy = strategy};
}

// The table of Rajbhandari et al., SC 2020, figure 1: what is divided by the ranks.
TEST(StateLayouts, ZeroShardsOneStateAfterTheOther) {
    const Held zero_0 = held(eight_ranks(ShardingStrategy::no_shard));
    EXPECT_EQ(zero_0.optimizer(), 1);
    EXPECT_EQ(zero_0.gradients(), 1);
    EXPECT_EQ(zero_0.state.gradient_buffer, Lifetime::persistent);
    const Held zero_1 = held(eight_ranks(ShardingStrategy::optim));
    EXPECT_EQ(zero_1.optimizer(), 8);
    EXPECT_EQ(zero_1.gradients(), 8);  // reduce-scattered into a whole buffer
    EXPECT_EQ(zero_1.state.gradient_buffer, Lifetime::persistent);
    EXPECT_EQ(zero_1.weights(), 1);
    const Held zero_2 = held(eight_ranks(ShardingStrategy::optim_grads));
    EXPECT_EQ(zero_2.state.gradient_buffer, Lifetime::step);
    const Held zero_3 = held(eight_ranks(ShardingStrategy::optim_grads_params));
    EXPECT_EQ(zero_3.weights(), 8);
    EXPECT_EQ(zero_3.state.gradient_buffer, Lifetime::slot);
    EXPECT_TRUE(zero_3.state.by_unit());
    EXPECT_FALSE(zero_3.state.keeps_secondary());
}

TEST(StateLayouts, HybridShardingDividesByAGroup) {
    ParallelPlan plan = eight_ranks(ShardingStrategy::optim_grads_params);
    plan.hsdp_shard_size = 4;
    const Held hybrid = held(plan);
    EXPECT_EQ(hybrid.weights(), 4);
    EXPECT_EQ(hybrid.optimizer(), 4);
    // Scattered inside the groups, then all-reduced over their copies.
    const std::vector<LayoutStep> steps =
        transition(hybrid.state.made_gradients, hybrid.state.gradients);
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[0],
              (LayoutStep{CollectiveKind::reduce_scatter, 1u << hybrid.mesh.digit("dps")}));
    EXPECT_EQ(steps[1], (LayoutStep{CollectiveKind::all_reduce, 1u << hybrid.mesh.digit("dpr")}));
}

TEST(StateLayouts, ASecondaryCopyIsOfFewNeighbours) {
    ParallelPlan plan = eight_ranks(ShardingStrategy::optim_grads_params);
    plan.zero_hpz_partition_size = 4;
    const Held hpz = held(plan);
    EXPECT_EQ(hpz.weights(), 8);
    EXPECT_EQ(hpz.secondary(), 4);
    EXPECT_TRUE(hpz.state.keeps_secondary());
    plan.zero_hpz_partition_size = 8;  // the primary copy is as near
    EXPECT_FALSE(held(plan).state.keeps_secondary());
}

TEST(StateLayouts, WeightsThatStayWholeAreNoSecondaryCopy) {
    ParallelPlan plan = eight_ranks(ShardingStrategy::optim_grads_params);
    plan.reshard_after_forward = false;
    const Held kept = held(plan);
    EXPECT_EQ(kept.weights(), 8);
    EXPECT_TRUE(kept.state.keeps_gathered());
    EXPECT_FALSE(kept.state.keeps_secondary());
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim;  // they are whole anyway
    EXPECT_FALSE(held(plan).state.keeps_gathered());
}

TEST(StateLayouts, ContextParallelRanksShareStateToo) {
    ParallelPlan plan = eight_ranks(ShardingStrategy::optim);
    plan.context_parallel_size = 2;
    EXPECT_EQ(held(plan).optimizer(), 16);
}

TEST(StateLayouts, OneRankKeepsAllOfItWhateverTheStrategy) {
    const Held alone =
        held({.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params});
    EXPECT_FALSE(alone.state.by_unit());
    EXPECT_EQ(alone.state.gradient_buffer, Lifetime::persistent);
}

}  // namespace
}  // namespace orrery
