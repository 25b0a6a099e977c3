// SPDX-License-Identifier: Apache-2.0
#include "models/plan/rank_rows.h"

#include <gtest/gtest.h>

#include <set>

#include "models/experts/routed_step.h"
#include "models/lowering/lowering.h"
#include "tests/models/expert_models.h"

namespace orrery {
namespace {

// A hot expert that is another one in each layer: no rank is the busiest of both layers.
TEST(RankRows, MemoryIsThatOfTheRankWithMostRows) {
    Transformer model = small_experts();
    model.num_layers = 2;
    model.num_experts = 4;
    const ParallelPlan plan{.data_parallel_size = 8,
                            .global_batch_size = 8 * 3,
                            .expert_model_parallel_size = 4,
                            .moe_router_load = RouterLoad::hot,
                            .moe_router_load_alpha = 1.75};
    std::vector<RoutedTensor> tensors;
    const Program program = lower(model, plan, tensors);
    const auto step = route_step(model, plan, program, tensors);
    ASSERT_TRUE(step);
    const StepLoad& load = step->load;
    const std::vector<RankId> fullest = fullest_ranks(program, load);
    ASSERT_EQ(fullest.size(), 1u);
    const Program own = with_rows_of(program, tensors, load, fullest);
    std::set<std::int64_t> smaller;  // layers with other tensors than the Program's
    std::set<std::int64_t> equal;
    for (const RoutedTensor& tensor : tensors) {
        const Bytes before = program.tensors[index(tensor.tensor)].bytes;
        const Bytes after = own.tensors[index(tensor.tensor)].bytes;
        EXPECT_LE(after, before);
        if (tensor.with_experts) {
            (after < before ? smaller : equal).insert(tensor.layer);
        }
    }
    EXPECT_EQ(smaller.size(), 1u);
    EXPECT_EQ(equal.size(), 1u);
}

}  // namespace
}  // namespace orrery
