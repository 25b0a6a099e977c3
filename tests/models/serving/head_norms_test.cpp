// SPDX-License-Identifier: Apache-2.0
#include "models/serving/head_norms.h"

#include <gtest/gtest.h>

#include "tests/models/known_models.h"

namespace orrery {
namespace {

constexpr std::int64_t kTokensOfStep = 64;

std::vector<ServingOp> norms(bool normed, const ServingPlan& plan) {
    Transformer model = llama(4, 4096, 14336, 8, 32000);
    model.qk_layernorm = normed;
    std::vector<ServingOp> ops;
    add_head_norms(model, plan, kTokensOfStep, 4, ops);
    return ops;
}

std::int64_t bytes_of(const ServingOp& op) {
    return std::get<KernelCall>(op.work).bytes;
}

TEST(HeadNorms, OneKernelNormsEachHead) {
    EXPECT_TRUE(norms(false, {}).empty());
    const auto whole = norms(true, {});
    ASSERT_EQ(whole.size(), 1U);
    EXPECT_EQ(whole[0].count, 4);
    // A rank norms its own heads.
    const auto shared = norms(true, {.tensor_model_parallel_size = 4});
    ASSERT_EQ(shared.size(), 1U);
    EXPECT_LT(bytes_of(shared[0]), bytes_of(whole[0]) / 3);
    // The rotary kernel does it.
    EXPECT_TRUE(norms(true, {.fused_cache_write = true}).empty());
}

TEST(HeadNorms, RanksAddUpTheSumsOfAllHeads) {
    ServingPlan plan{.norms_all_heads = true};
    EXPECT_EQ(norms(true, plan).size(), 2U);
    plan.tensor_model_parallel_size = 8;
    const auto ops = norms(true, plan);
    ASSERT_EQ(ops.size(), 3U);
    const auto& sums = std::get<CollectiveCall>(ops[1].work);
    EXPECT_EQ(sums.kind, CollectiveKind::all_reduce);
    EXPECT_EQ(sums.bytes.count(), kTokensOfStep * 2 * 4);  // two sums of 32 bits a token
    EXPECT_LT(bytes_of(ops[0]), bytes_of(ops[2]));
    plan.fused_cache_write = true;
    EXPECT_EQ(norms(true, plan).size(), 3U);
}

}  // namespace
}  // namespace orrery
