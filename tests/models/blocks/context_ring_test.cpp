// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/context_ring.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/models/known_models.h"
#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

constexpr ParallelPlan kCut{.tensor_model_parallel_size = 2,
                            .context_parallel_size = 8,
                            .data_parallel_size = 2,
                            .expert_model_parallel_size = 4,
                            .expert_tensor_parallel_size = 1};

TEST(ContextRing, GoesRoundTheInnerDigitFirst) {
    const LayoutAssignment a = assign_layouts(kCut);
    const std::uint32_t inner = a.mesh.digit("cp0");
    const std::uint32_t outer = a.mesh.digit("cp1");
    ASSERT_EQ(a.mesh.size(inner), 2);
    ASSERT_EQ(a.mesh.size(outer), 4);
    EXPECT_EQ(ranks_of_ring(a), 8);
    const std::vector<std::uint32_t> expected{inner, outer, inner, outer, inner, outer, inner};
    for (std::int64_t hop = 1; hop < 8; ++hop) {
        EXPECT_EQ(digit_of_hop(a, hop), expected[static_cast<std::size_t>(hop - 1)]) << hop;
    }
}

TEST(ContextRing, MeetsEveryRankOnce) {
    for (const std::int64_t experts : {1, 2, 4, 8, 16}) {
        for (const std::int64_t split : {1, 2, 4}) {
            ParallelPlan plan = kCut;
            plan.expert_model_parallel_size = experts / std::min(experts, split);
            plan.expert_tensor_parallel_size = std::min(experts, split);
            const LayoutAssignment a = assign_layouts(plan);
            RankId at = to_id<RankId>(5);
            std::set<RankId> met{at};
            for (std::int64_t hop = 1; hop < ranks_of_ring(a); ++hop) {
                at = a.mesh.shifted(at, digit_of_hop(a, hop), 1);
                met.insert(at);
            }
            const std::vector<RankId> members =
                a.mesh.members({.digits = a.mesh.axis("cp")}, to_id<RankId>(5));
            EXPECT_EQ(met, std::set<RankId>(members.begin(), members.end()));
        }
    }
}

TEST(ContextRing, IsOfRanksThatPassBlocksOn) {
    ParallelPlan plan = kCut;
    plan.context_parallel_comm = ContextParallelComm::all_to_all;
    EXPECT_EQ(ranks_of_ring(assign_layouts(plan)), 1);
    plan = kCut;
    plan.context_parallel_size = 1;
    EXPECT_EQ(ranks_of_ring(assign_layouts(plan)), 1);
}

// 16 bits: two passes over the first output and three over each later one, beside a log-sum-exp in
// 32 bits that is added in 64.
TEST(ContextRing, AFrameworkJoinsWhatTheStepsMake) {
    const Transformer model = gpt(1, 128, 8, 64, 512);
    const ParallelPlan plan{.context_parallel_size = 4, .global_batch_size = 1};
    const Program joined = verified(model, plan);
    const std::vector<const Op*> joins = ops_called(joined, "join of steps");
    ASSERT_EQ(joins.size(), 4U);
    const std::int64_t output = 64 / 4 * 128;
    const std::int64_t sums = 64 / 4 * 8;
    EXPECT_EQ(joined.kernel(*joins[0]).bytes, 2 * 2 * output + (4 + 8) * sums);
    EXPECT_EQ(joined.kernel(*joins[3]).bytes, 3 * 2 * output + (4 + 16) * sums);
    EXPECT_EQ(joins[0]->launches, 4);
    EXPECT_EQ(joins[3]->launches, 2);
    const std::vector<const Op*> gradients = ops_called(joined, "query gradient");
    ASSERT_EQ(gradients.size(), 4U);
    EXPECT_EQ(joined.kernel(*gradients[0]).bytes, 2 * 2 * output);
    EXPECT_EQ(joined.kernel(*gradients[3]).bytes, 3 * 2 * output);

    const Program own = verified(model, plan.launched_from_cpp());
    EXPECT_TRUE(ops_called(own, "join of steps").empty());
    EXPECT_TRUE(ops_called(own, "query gradient").empty());
}

// Each step but the one over the own block reads half of a block, forward and backward.
TEST(ContextRing, CudnnsKernelWantsHalfABlockSideBySide) {
    const Transformer model = gpt(1, 128, 8, 64, 512);
    ParallelPlan plan{.context_parallel_size = 4, .global_batch_size = 1};
    EXPECT_TRUE(ops_called(verified(model, plan), "half of key value block").empty());
    plan.attention_kernel = AttentionKernel::cudnn;
    const Program program = verified(model, plan);
    const std::vector<const Op*> halves = ops_called(program, "half of key value block");
    ASSERT_EQ(halves.size(), 6U);
    EXPECT_EQ(program.kernel(*halves[0]).bytes, 2 * 2 * (64 / 4 / 2) * 2 * 128);
}

// What is kept of Q, K and V in an eager framework whose rotary embedding writes Q to a tensor of
// its own: Q and the block that came last. Without the embedding, Q is a view of all three.
TEST(ContextRing, KeepsQAndTheLastBlock) {
    Transformer model = small_llama(1);
    const ParallelPlan plan{.context_parallel_size = 2, .global_batch_size = 1};
    const auto lifetime_of = [](const Program& program, std::string_view name) {
        return std::ranges::find(program.tensors, name, &Tensor::name)->lifetime;
    };
    const Program program = verified(model, plan);
    EXPECT_EQ(lifetime_of(program, "qkv"), Lifetime::slot);
    EXPECT_EQ(lifetime_of(program, "query"), Lifetime::micro_batch);
    EXPECT_EQ(lifetime_of(program, "key value ring"), Lifetime::micro_batch);
    const std::int64_t q = bytes_of_tensor(program, "query");
    EXPECT_EQ(bytes_of_tensor(program, "qkv"), q + bytes_of_tensor(program, "key value ring"));

    model.position_embedding = PositionEmbedding::learned;
    const Program views = verified(model, plan);
    EXPECT_EQ(lifetime_of(views, "qkv"), Lifetime::micro_batch);
    EXPECT_EQ(bytes_of_tensor(views, "query"), 0);
    model.position_embedding = PositionEmbedding::rope;
    EXPECT_EQ(bytes_of_tensor(verified(model, plan.launched_from_cpp()), "query"), 0);
}

}  // namespace
}  // namespace orrery
