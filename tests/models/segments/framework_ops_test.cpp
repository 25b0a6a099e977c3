// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "models/segments/block_builder.h"

namespace orrery {
namespace framework_ops_test {

constexpr std::int64_t kTokens = 2 * 8;
constexpr std::int64_t kHidden = 16;
constexpr std::int64_t kLayers = 2;

std::int64_t bytes_of(const ParallelPlan& plan) {
    const Program program = lower({.num_layers = kLayers,
                                   .hidden_size = kHidden,
                                   .ffn_hidden_size = 4 * kHidden,
                                   .num_attention_heads = 4,
                                   .num_query_groups = 4,
                                   .kv_channels = 4,
                                   .seq_length = 8,
                                   .vocab_size = 32},
                                  plan);
    std::int64_t bytes = 0;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            bytes += op.kind() == OpKind::kernel ? program.kernel(op).bytes : 0;
        }
    }
    return bytes;
}

ParallelPlan eager() {
    return {.micro_batch_size = 2,
            .global_batch_size = 2,
            .gradient_accumulation_fusion = false,
            .fused_norm = false,
            .fused_activation = false};
}

// Seven operators take the host as long as a call.
TEST(FrameworkOps, OperatorsThatRunAgainAreFewerCalls) {
    const Transformer model{};
    const auto calls = [&](std::uint8_t operators, bool again, const ParallelPlan& plan) {
        Program program;
        ProgramTables tables{program};
        const LayoutAssignment layouts = assign_layouts(plan);
        BlockBuilder b{tables, model, plan, layouts, "segment"};
        b.recomputing = again;
        return int{b.calls_of_operators(operators)};
    };
    const ParallelPlan by_call;
    EXPECT_EQ(calls(28, true, by_call), 4);
    EXPECT_EQ(calls(15, true, by_call), 2);
    EXPECT_EQ(calls(3, true, by_call), 1);
    EXPECT_EQ(calls(0, true, by_call), 0);
    EXPECT_EQ(calls(28, false, by_call), 28);
    EXPECT_EQ(calls(28, true, {.eager_framework = false}), 28);
}

// Forward 36 bytes instead of one kernel's 4, backward 56 instead of 6.
TEST(FrameworkOps, AnEagerGeluMovesWhatItsOperatorsReadAndWrite) {
    ParallelPlan plan = eager();
    const std::int64_t before = bytes_of(plan);
    plan.eager_activation = true;
    EXPECT_EQ(bytes_of(plan) - before, kLayers * kTokens * 4 * kHidden * (32 + 50));
    plan.compiled = true;
    const std::int64_t chain = bytes_of(plan);
    plan.eager_activation = false;
    EXPECT_EQ(bytes_of(plan), chain);
}

// Six bytes for each weight of a product and six for its gradient; five norms with the residuals
// before them: 14 and 18 bytes an element. Attention is not stored here.
TEST(FrameworkOps, AutocastCastsWeightsAndGradientsAndKeepsNormsInFp32) {
    ParallelPlan plan = eager();
    const std::int64_t before = bytes_of(plan);
    plan.autocast = true;
    constexpr std::int64_t kWeights = kLayers * 12 * kHidden * kHidden + 32 * kHidden;
    constexpr std::int64_t kNorms = 2 * kLayers + 1;
    EXPECT_EQ(bytes_of(plan) - before, kWeights * (6 + 6) + kNorms * kTokens * kHidden * (14 + 18));
}

// 16 and 18 bytes of each score as a chain; 4 and 2 where a compiler fuses the casts.
TEST(FrameworkOps, AutocastTakesTheSoftmaxOfStoredScoresInFp32) {
    constexpr std::int64_t kScores = kLayers * kTokens * 4 * 8;
    for (const bool compiled : {false, true}) {
        const auto more = [&](AttentionKernel kernel) {
            ParallelPlan plan = eager();
            plan.compiled = compiled;
            plan.attention_kernel = kernel;
            const std::int64_t before = bytes_of(plan);
            plan.autocast = true;
            return bytes_of(plan) - before;
        };
        EXPECT_EQ(more(AttentionKernel::unfused) - more(AttentionKernel::flash_2),
                  kScores * (compiled ? 4 + 2 : 16 + 18));
    }
}

TEST(FrameworkOps, AutocastNeverAddsToGradientsInProducts) {
    ParallelPlan plan = eager();
    plan.autocast = true;
    const std::int64_t apart = bytes_of(plan);
    plan.gradient_accumulation_fusion = true;
    EXPECT_EQ(bytes_of(plan), apart);
}

// DeepSpeed's BF16_Optimizer casts a gradient (6 bytes an element) and adds the copy to its sum (12
// in place of 10). Since 0.12 the gradient is set to zero (2) and a pass adds to it (6).
TEST(FrameworkOps, KeptGradientsAreCastAndMayBeSetToZero) {
    ParallelPlan plan = eager();
    const std::int64_t freed = bytes_of(plan);
    plan.clear_lp_grads = false;
    const std::int64_t kept = bytes_of(plan);
    plan.zero_lp_grads = true;
    const std::int64_t zeroed = bytes_of(plan);
    // Q, K and V, the output, and the two of the MLP; then the output layer's.
    const std::int64_t elements = kLayers * 12 * kHidden * kHidden + 32 * kHidden;
    EXPECT_EQ(kept - freed, 8 * elements);
    EXPECT_EQ(zeroed - kept, 8 * elements);
}

}  // namespace framework_ops_test
}  // namespace orrery
