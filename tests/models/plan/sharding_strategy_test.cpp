// SPDX-License-Identifier: Apache-2.0
#include "models/plan/sharding_strategy.h"

#include <gtest/gtest.h>

#include "models/plan/plan.h"

namespace orrery {
namespace {

TEST(ShardingStrategy, PlansAskTheRow) {
    const auto plan = [](ShardingStrategy strategy) {
        return ParallelPlan{.data_parallel_sharding_strategy = strategy};
    };
    EXPECT_FALSE(plan(ShardingStrategy::no_shard).shards_optimizer());
    EXPECT_TRUE(plan(ShardingStrategy::optim).shards_optimizer());
    EXPECT_FALSE(plan(ShardingStrategy::optim_grads).shards_weights());
    EXPECT_TRUE(plan(ShardingStrategy::optim_grads_params).shards_weights());
}

// Of ZeRO 1 and 2 a rank holds the same once gradients are reduced.
TEST(ShardingStrategy, KnowsTheFirstOfEqualLayouts) {
    EXPECT_EQ(with_equal_layouts(ShardingStrategy::no_shard), ShardingStrategy::no_shard);
    EXPECT_EQ(with_equal_layouts(ShardingStrategy::optim_grads), ShardingStrategy::optim);
    EXPECT_EQ(with_equal_layouts(ShardingStrategy::optim_grads_params),
              ShardingStrategy::optim_grads_params);
}

}  // namespace
}  // namespace orrery
