// SPDX-License-Identifier: Apache-2.0
// Rows of experts by products with masks (plan.moe_mask_products).
#include "models/blocks/mask_moves.h"

#include <gtest/gtest.h>

#include "tests/models/lowered_experts.h"

namespace orrery {
namespace mask_moves_test {

ParallelPlan plan_of(bool masks) {
    ParallelPlan plan = four_ranks();
    plan.moe_mask_products = masks;
    return plan;
}

// Each way is a product of tokens x places x width, and so are its two gradients of rows; the
// weights have a gradient, the mask of the way out has none.
TEST(MaskProducts, AreFiveProductsOfTokensAndPlacesALayer) {
    const Transformer model = small_experts();
    const double more = executed_flop(verified(model, plan_of(true)), KernelKind::gemm) -
                        executed_flop(verified(model, plan_of(false)), KernelKind::gemm);
    const ParallelPlan plan = plan_of(true);
    const auto tokens = static_cast<double>(model.seq_length * plan.micro_batch_size);
    const double places = tokens * static_cast<double>(model.moe_router_topk);
    std::int64_t layers = 0;
    for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
        layers += model.layer_has_experts(layer) ? 1 : 0;
    }
    const std::int64_t batches = plan.global_batch_size / plan.micro_batch_size;
    const auto passes = static_cast<double>(layers * batches);
    const double each = 2 * tokens * places * static_cast<double>(model.hidden_size);
    EXPECT_NEAR(more, 5 * each * passes, 1e-9 * more);
}

TEST(MaskProducts, TakeThePlaceOfTheKernelsThatMoveRows) {
    const Program program = verified(small_experts(), plan_of(true));
    EXPECT_EQ(count_ops(program, "permute"), 0);
    EXPECT_EQ(count_ops(program, "unpermute"), 0);
    EXPECT_GT(count_ops(program, "gather by mask"), 0);
    EXPECT_EQ(count_ops(program, "gather by mask"), count_ops(program, "scatter by mask"));
    const Program by_index = verified(small_experts(), plan_of(false));
    EXPECT_EQ(count_ops(program, "dispatch"), count_ops(by_index, "dispatch"));
    EXPECT_EQ(count_ops(program, "combine"), count_ops(by_index, "combine"));
    EXPECT_EQ(count_ops(program, "dispatch of weights"), 0);
}

TEST(MaskProducts, RefuseLoadsThatDiffer) {
    ParallelPlan plan = plan_of(true);
    plan.moe_router_load = RouterLoad::uniform;
    const Errors errors = check(small_experts(), plan, 4);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].where, "plan.moe_mask_products");
}

}  // namespace mask_moves_test
}  // namespace orrery
