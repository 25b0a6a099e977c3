// SPDX-License-Identifier: Apache-2.0
#include "models/plan/recompute_choices.h"

#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "models/memory/memory.h"
#include "models/plan/flops.h"
#include "models/plan/validate_plan.h"
#include "tests/models/expert_models.h"
#include "tests/models/program_sums.h"

namespace orrery {
namespace {

// A model that has the parts of the module.
Transformer model_of(const ModuleRow& row) {
    Transformer model = row.again.has(kExpertParts)              ? mixtral_8x7b()
                        : row.again.has(LayerPart::latent_heads) ? deepseek_v3()
                                                                 : llama(3, 4096, 14336, 8, 32000);
    model.num_layers = 4;
    return model;
}

ParallelPlan plan_of(const ModuleRow& row) {
    return {.recompute_granularity = Recompute::selective,
            .recompute_modules = static_cast<std::uint32_t>(row.value)};
}

std::size_t ops_again(const Program& program) {
    std::size_t count = 0;
    for_each_op(program, program.roles.front(), [&](const Slot&, const Op& op) {
        count += op.cause == Cause::recomputation ? 1 : 0;
    });
    return count;
}

TEST(RecomputeChoices, EachModuleRunsItsPartsAgainToKeepLess) {
    for (const ModuleRow& row : kModuleRows) {
        const Transformer model = model_of(row);
        EXPECT_TRUE(check(model, plan_of(row), 1).empty()) << row.word;
        const Program kept = lower(model, {});
        const Program again = lower(model, plan_of(row));
        EXPECT_EQ(ops_again(kept), 0u);
        EXPECT_GT(ops_again(again), 0u) << row.word;
        EXPECT_LE(largest_plan(again).count(), largest_plan(kept).count()) << row.word;
    }
}

// The counts leave a router's product out, and the layout of latent heads' weights.
TEST(RecomputeChoices, CountedFlopAreThoseOfTheProgram) {
    constexpr double kUncounted = 1e-3;
    for (const ModuleRow& row : kModuleRows) {
        const Transformer model = model_of(row);
        const auto products = [&](const ParallelPlan& plan) {
            const Program program = lower(model, plan);
            return executed_flop(program, KernelKind::gemm) +
                   executed_flop(program, KernelKind::attention_forward);
        };
        const ModelFlops flops = model_flops(model, plan_of(row));
        const double counted =
            flops.hardware_causal_attention.count() - flops.causal_attention.count();
        const double kept = products({});
        EXPECT_NEAR((products(plan_of(row)) - kept) / kept, counted / kept, kUncounted) << row.word;
    }
}

TEST(RecomputeChoices, WordsFollowFromTheRows) {
    EXPECT_EQ(words_of_modules(modules_with(kExpertParts)), "moe_act, moe");
    EXPECT_EQ(words_of_modules(modules_within(LayerPart::core | LayerPart::norms)),
              "core_attn, layernorm");
    EXPECT_EQ(words_of_modules(0), "");
    EXPECT_EQ(kMethodsMeaning,
              "Which layers full recomputation is of: uniform (all, in units of "
              "recompute_num_layers), block (the first recompute_num_layers of each chunk), every "
              "(every recompute_num_layers-th).");
}

}  // namespace
}  // namespace orrery
