// SPDX-License-Identifier: Apache-2.0
#include "models/experts/expert_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "models/experts/router_load.h"
#include "tests/models/expert_models.h"

namespace orrery {
namespace expert_placement_test {

// The example of DeepSeek's balancer (github.com/deepseek-ai/EPLB, README).
TEST(ExpertPlacement, IsThatOfThePublishedExample) {
    const std::vector<double> loads{90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86};
    EXPECT_EQ(place_experts(loads, {.slots = 16, .groups = 4, .nodes = 2, .gpus = 8}),
              (std::vector<std::int64_t>{5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1}));
}

TEST(ExpertPlacement, GroupsThatNodesDoNotDivideSpreadOverAll) {
    const std::vector<double> loads{5, 1, 1, 1, 1, 1};
    const auto spread = place_experts(loads, {.slots = 8, .groups = 3, .nodes = 2, .gpus = 4});
    EXPECT_EQ(spread, place_experts(loads, {.slots = 8, .groups = 1, .nodes = 1, .gpus = 4}));
    EXPECT_EQ(std::ranges::count(spread, 0), 3);  // the busiest has both further copies
}

TEST(ExpertPlacement, AnOrderHasEachExpertOnce) {
    const std::vector<double> loads{8, 7, 6, 5, 4, 3, 2, 1};
    std::vector<std::int64_t> order = balanced_order(loads, 4);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(loads[static_cast<std::size_t>(order[2 * rank])] +
                      loads[static_cast<std::size_t>(order[2 * rank + 1])],
                  9);
    }
    std::ranges::sort(order);
    std::vector<std::int64_t> all(8);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all);
}

// What a user gains: the busiest rank of a skewed load has less to do. All ranks have equally many
// experts, so that one which is busier than that cannot be made up for.
TEST(ExpertPlacement, TheBusiestRankHasLessOfASkewedLoad) {
    const Transformer model = qwen3_30b_a3b();
    ParallelPlan plan{.data_parallel_size = 16, .expert_model_parallel_size = 16};
    plan.moe_router_load = RouterLoad::zipf;
    plan.moe_router_load_alpha = 0.3;
    const double linear = busiest_rank(model, plan, 3, 65'536);
    plan.moe_expert_placement = ExpertPlacement::balanced;
    const double placed = busiest_rank(model, plan, 3, 65'536);
    EXPECT_GT(linear, 1.1);
    EXPECT_LT(placed, 1.1);
    plan.moe_router_load_alpha = 0.5;
    const double most = busiest_rank(model, plan, 3, 65'536);
    plan.moe_expert_placement = ExpertPlacement::linear;
    EXPECT_LT(most, busiest_rank(model, plan, 3, 65'536));
}

TEST(ExpertPlacement, OfATraceGoesByAllMicroBatchesOfTheLayer) {
    Transformer model = with_experts(llama(1, 256, 512, 2, 512), 4, 1, 64);
    ParallelPlan plan{.data_parallel_size = 2, .global_batch_size = 4};
    plan.expert_model_parallel_size = 2;
    plan.moe_router_load = RouterLoad::trace;
    plan.moe_router_load_trace = {6, 4, 1, 1};
    EXPECT_NEAR(busiest_rank(model, plan, 0, 1200), 10.0 / 6, 1e-9);
    plan.moe_expert_placement = ExpertPlacement::balanced;
    EXPECT_NEAR(busiest_rank(model, plan, 0, 1200), 7.0 / 6, 1e-9);
}

}  // namespace expert_placement_test
}  // namespace orrery
