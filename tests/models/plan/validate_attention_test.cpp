// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_attention.h"

#include <gtest/gtest.h>

#include "tests/models/lowered_experts.h"

namespace orrery {
namespace validate_attention_test {

ParallelPlan fp8_attention() {
    return {.precision = Dtype::fp8,
            .attention_kernel = AttentionKernel::cudnn,
            .fp8_dot_product_attention = true};
}

std::string first_error(const Transformer& model, const ParallelPlan& plan) {
    const Errors errors = check_attention(model, plan, plan.context_parallel_size > 1);
    return errors.empty() ? "" : errors[0].where + ": " + errors[0].what;
}

TEST(ValidateAttention, Fp8NeedsAKernelThatReadsIt) {
    Transformer model = small_experts();
    EXPECT_EQ(first_error(model, fp8_attention()), "");
    ParallelPlan plan = fp8_attention();
    plan.precision = Dtype::bf16;
    EXPECT_EQ(first_error(model, plan),
              "plan.fp8_dot_product_attention: no other product is in FP8");
    plan = fp8_attention();
    plan.attention_kernel = AttentionKernel::flash_2;
    EXPECT_NE(first_error(model, plan).find("cuDNN"), std::string::npos);
    plan = fp8_attention();
    plan.context_parallel_size = 2;
    for (const auto comm : {ContextParallelComm::ring, ContextParallelComm::all_gather}) {
        plan.context_parallel_comm = comm;
        EXPECT_NE(first_error(model, plan).find("to other ranks in 16 bits"), std::string::npos);
    }
    plan.context_parallel_comm = ContextParallelComm::all_to_all;
    EXPECT_EQ(first_error(model, plan), "");
    model.linear_attention_every = 1;
    EXPECT_NE(first_error(model, plan).find("linear"), std::string::npos);
}

TEST(ValidateAttention, OperatorsNeedAnUnfusedKernel) {
    const Transformer model = small_experts();
    ParallelPlan plan{.attention_kernel = AttentionKernel::unfused, .eager_attention = true};
    EXPECT_EQ(first_error(model, plan), "");
    plan.attention_kernel = AttentionKernel::cudnn;
    EXPECT_EQ(first_error(model, plan),
              "plan.eager_attention: a fused kernel makes no mask and no scores");
}

TEST(ValidateAttention, Fp8AttentionCastsWhatItReads) {
    const Transformer model = small_experts();
    ParallelPlan plan = four_ranks();
    plan.precision = Dtype::fp8;
    plan.attention_kernel = AttentionKernel::cudnn;
    EXPECT_EQ(count_ops(verified(model, plan), "attention cast"), 0);
    plan.fp8_dot_product_attention = true;
    const Program program = verified(model, plan);
    const auto attentions = count_ops(program, "attention");
    EXPECT_EQ(count_ops(program, "attention cast"), attentions);
    EXPECT_EQ(count_ops(program, "attention recast"), attentions);
    EXPECT_EQ(count_ops(program, "attention gradient cast"), attentions);
    int fp8 = 0;
    for (const KernelCall& call : program.kernels) {
        const bool attention = call.kind == KernelKind::attention_forward ||
                               call.kind == KernelKind::attention_backward;
        EXPECT_TRUE(!attention || call.dtype == Dtype::fp8);
        fp8 += attention ? 1 : 0;
    }
    EXPECT_EQ(fp8, 2);
}

}  // namespace validate_attention_test
}  // namespace orrery
