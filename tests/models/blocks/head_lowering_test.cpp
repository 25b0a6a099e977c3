// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/head_lowering.h"

#include <gtest/gtest.h>

#include "tests/models/lowered_experts.h"

namespace orrery {
namespace {

TEST(HeadLowering, StandsBehindTheLastLayerOfTheLastStage) {
    ParallelPlan plan{.pipeline_model_parallel_size = 2, .global_batch_size = 2};
    const Program program = verified(small_experts(), plan);
    const auto heads = [&](std::size_t role) {
        std::int64_t count = 0;
        for_each_op(program, program.roles[role], [&](const Slot&, const Op& op) {
            count += program.names[op.name] == "logits" ? 1 : 0;
        });
        return count;
    };
    EXPECT_EQ(heads(0), 0);
    EXPECT_EQ(heads(1), 2);  // once a micro-batch
}

// A compiler that takes only the layers leaves the loss to the framework.
TEST(HeadLowering, ACompilerMayLeaveTheLossOut) {
    const auto has_probabilities = [](bool compiled_loss) {
        const Program program = verified(
            small_experts(),
            {.fused_cross_entropy = false, .compiled = true, .compiled_loss = compiled_loss});
        return std::ranges::count(program.tensors, "loss probabilities", &Tensor::name) > 0;
    };
    EXPECT_FALSE(has_probabilities(true));
    EXPECT_TRUE(has_probabilities(false));
}

// Megatron-LM's vocab_parallel_cross_entropy of 2022 copies the fp32 logits. Copy and source are
// alive at once, and the source ends with the forward pass of the loss.
TEST(HeadLowering, CopiesOfLogitsEndWithTheLoss) {
    const auto lowered = [](std::int64_t copies, bool fused) {
        return verified(small_experts(), {.fused_cross_entropy = fused, .loss_copies = copies});
    };
    const auto logits = [](const Program& program) {
        std::int64_t bytes = 0;
        for (const Tensor& tensor : program.tensors) {
            const std::string& name = tensor.name;
            bytes += name.starts_with("copy ") ? tensor.bytes.count() : 0;
        }
        return bytes;
    };
    const Program plain = lowered(0, false);
    const Program two = lowered(2, false);
    EXPECT_EQ(logits(plain), 0);
    std::int64_t probabilities = 0;
    for (const Tensor& tensor : plain.tensors) {
        probabilities += tensor.name == "loss probabilities" ? tensor.bytes.count() : 0;
    }
    EXPECT_GT(probabilities, 0);
    EXPECT_EQ(logits(two), 2 * probabilities);
    EXPECT_EQ(logits(lowered(2, true)), 0);  // a fused loss copies nothing
}

}  // namespace
}  // namespace orrery
