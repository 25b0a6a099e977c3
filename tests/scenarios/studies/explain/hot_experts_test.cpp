// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/explain/hot_experts.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

Scenario two_experts() {
    Scenario scenario;
    scenario.model.num_layers = 3;
    scenario.model.first_k_dense_replace = 1;
    scenario.model.seq_length = 64;
    scenario.model.num_experts = 2;
    scenario.model.moe_router_topk = 1;
    scenario.plan.expert_model_parallel_size = 2;
    return scenario;
}

TEST(HotExperts, EqualLoadsHaveNone) {
    EXPECT_FALSE(busiest_experts(two_experts()));
}

// Loads of 3 : 1 and of 1 : 7, of the layers 1 and 2: layer 0 has no experts.
TEST(HotExperts, TheMostUnevenLayerIsNamed) {
    Scenario scenario = two_experts();
    scenario.plan.moe_router_load = RouterLoad::trace;
    scenario.plan.moe_router_load_trace = {1, 1, 3, 1, 1, 7};
    const auto hot = busiest_experts(scenario);
    ASSERT_TRUE(hot);
    EXPECT_EQ(hot->layer, 2);
    EXPECT_EQ(hot->rank, 1);
    EXPECT_EQ(hot->ranks, 2);
    EXPECT_DOUBLE_EQ(hot->over_mean, 1.75);
    EXPECT_DOUBLE_EQ(hot->mean_over_mean, 1.625);
    EXPECT_EQ(hot->dropped, 0);
}

TEST(HotExperts, CapacitiesDropTheRest) {
    Scenario scenario = two_experts();
    scenario.plan.moe_router_load = RouterLoad::trace;
    scenario.plan.moe_router_load_trace = {3, 1};
    scenario.plan.moe_expert_capacity_factor = 1;
    const auto hot = busiest_experts(scenario);
    ASSERT_TRUE(hot);
    EXPECT_DOUBLE_EQ(hot->over_mean, 1);
    EXPECT_DOUBLE_EQ(hot->dropped, 0.25);
}

}  // namespace
}  // namespace orrery
