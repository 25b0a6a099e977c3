// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/fused_experts.h"

#include "tests/models/lowered_experts.h"

namespace orrery {
namespace {

ParallelPlan fused_ranks(std::int64_t ep) {
    ParallelPlan plan = four_ranks().launched_from_cpp();
    plan.expert_model_parallel_size = ep;
    return plan;
}

const Tensor& fused_tensor(const Program& program, std::string_view name) {
    for (const Tensor& tensor : program.tensors) {
        if (tensor.name == name) {
            return tensor;
        }
    }
    ADD_FAILURE() << "no tensor " << name;
    return program.tensors.front();
}

TEST(FusedExperts, OneKernelEachAndNoSorting) {
    const Program program = verified(small_experts(), fused_ranks(4));
    constexpr std::int64_t kPasses = 8;  // two layers, four micro-batches
    EXPECT_EQ(count_ops(program, "router choice"), kPasses);
    EXPECT_EQ(count_ops(program, "tokens of experts"), kPasses);
    EXPECT_EQ(count_ops(program, "tokens of experts exchange"), kPasses);
    EXPECT_EQ(count_ops(program, "dispatch"), kPasses);
    EXPECT_EQ(count_ops(program, "combine"), kPasses);
    for (const char* none : {"rows by expert", "router balance", "host reads tokens of experts"}) {
        EXPECT_EQ(count_ops(program, none), 0) << none;
    }
    const Program alone = verified(small_experts(), fused_ranks(1));
    EXPECT_EQ(count_ops(alone, "tokens of experts exchange"), 0);
    EXPECT_EQ(count_ops(alone, "dispatch"), 0);
}

// 64 tokens choose 2 of 8 experts each. A rank has two: all tokens of four ranks may choose both.
TEST(FusedExperts, RowsHaveRoomForTheMostThatCanArrive) {
    const Transformer model = small_experts();
    const std::int64_t row = model.hidden_size * 2;  // bf16
    const auto bytes = [&](const ParallelPlan& plan) {
        return fused_tensor(verified(model, plan), "dispatch").bytes.count();
    };
    EXPECT_EQ(bytes(fused_ranks(4)), 4 * 64 * 2 * row);
    ParallelPlan plan = fused_ranks(4);
    plan.moe_expert_capacity_factor = 1.25;  // 20 tokens of each rank for each expert
    EXPECT_EQ(bytes(plan), 4 * 2 * 20 * row);
    // The rows that are expected decide what kernels and exchanges cost.
    EXPECT_EQ(fused_tensor(verified(model, fused_ranks(4)), "dispatch").global_shape[0], 64 * 2);
}

TEST(FusedExperts, ProductsAndExchangesReadTheCounts) {
    const Program program = verified(small_experts(), fused_ranks(4));
    int products = 0;
    for_each_op(program, program.roles[0], [&](const Slot&, const Op& op) {
        const bool grouped = op.kind() == OpKind::kernel && program.kernel(op).dims[4] > 0 &&
                             program.kernel(op).kind == KernelKind::gemm;
        if (grouped) {
            const Operand& counts = program.operands[op.first_operand + 2];
            EXPECT_EQ(program.tensors[index(counts.tensor)].name, "tokens of own experts");
            ++products;
        }
    });
    EXPECT_EQ(products, 8 * 6);  // two products, each with two gradients
}

TEST(FusedExperts, BiasesAreUpdatedOnceAStep) {
    Transformer model = small_experts();
    EXPECT_EQ(count_ops(verified(model, fused_ranks(4)), "expert bias"), 0);
    EXPECT_EQ(count_ops(verified(model, fused_ranks(4)), "tokens of experts reduce"), 1);
    model.moe_router_bias_update_rate = 0.001;
    const Program program = verified(model, fused_ranks(4));
    EXPECT_EQ(count_ops(program, "expert bias"), model.num_layers);
    EXPECT_EQ(fused_tensor(program, "layers.1.mlp.router.expert_bias").lifetime,
              Lifetime::persistent);
}

TEST(FusedExperts, NeedARowForEachExpert) {
    ParallelPlan plan = fused_ranks(4);
    plan.moe_token_dispatcher_type = TokenDispatcher::deepep;
    const Errors errors = check(small_experts(), plan, 4);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].where, "plan.moe_fused_kernels");
    // Plans with other dispatchers keep the kernels of their library on Orrery's runtime.
    plan.moe_fused_kernels = false;
    EXPECT_FALSE(plan.launched_from_cpp().moe_fused_kernels);
}

}  // namespace
}  // namespace orrery
