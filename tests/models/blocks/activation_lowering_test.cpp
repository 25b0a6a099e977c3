// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/activation_lowering.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

// A gated function in one kernel, or the function and the product in one each.
TEST(ActivationLowering, IsOneKernelOrAChain) {
    const Transformer model = small_llama(1);
    const Program fused = verified(model, {});
    EXPECT_EQ(ops_called(fused, "activation").size(), 1U);
    EXPECT_TRUE(ops_called(fused, "activation product").empty());
    const Program apart = verified(model, {.fused_activation = false});
    EXPECT_EQ(ops_called(apart, "activation").size(), 1U);
    EXPECT_EQ(ops_called(apart, "activation product").size(), 1U);
    EXPECT_EQ(ops_called(apart, "activation product backward").size(), 1U);
}

// Autograd keeps the function of a gate for the gradient of its product with up. A runtime that
// multiplies in place keeps nothing, nor does a fused activation, nor one that is computed again.
TEST(ActivationLowering, KeepsTheFunctionOfAGateInEagerFrameworks) {
    const Transformer model = small_llama(1);
    const auto kept = [&](const ParallelPlan& plan) {
        return bytes_of_tensor(verified(model, plan), "activation of gate");
    };
    EXPECT_EQ(kept({.fused_activation = false}), 4096 * 512 * 2);
    EXPECT_EQ(kept({.fused_activation = false, .eager_framework = false}), 0);
    EXPECT_EQ(kept({}), 0);

    const ParallelPlan apart{.fused_activation = false};
    EXPECT_EQ(activation_peak(verified(model, apart)) - activation_peak(verified(model, {})),
              4096 * 512 * 2);
}

// Rows of experts are weighed where they lie: the op changes what the activation wrote.
TEST(ActivationLowering, WeighsRowsInPlace) {
    const Transformer model = with_experts(small_llama(1), 8, 2, 512);
    EXPECT_TRUE(ops_called(verified(model, {}), "activation weights").empty());
    const Program program = verified(model, {.fused_activation = false});
    const std::vector<const Op*> ops = ops_called(program, "activation weights");
    ASSERT_EQ(ops.size(), 1U);
    const auto operands_of = [&](const Op& op) {
        return std::span{program.operands}.subspan(op.first_operand, op.num_operands);
    };
    const auto weighed = operands_of(*ops[0]);
    ASSERT_EQ(weighed.size(), 3U);
    EXPECT_NE(weighed[0].tensor, weighed[1].tensor);
    EXPECT_EQ(weighed[2].access, Access::write);
    EXPECT_EQ(weighed[2].tensor, weighed[0].tensor);
    const auto product = operands_of(*ops_called(program, "activation product").front());
    EXPECT_EQ(product.back().tensor, weighed[0].tensor);
}

// The products of experts write the activation and its gradient in FP8, by rows and by columns. No
// kernel casts them.
TEST(ActivationLowering, IsPartOfProductsOfExperts) {
    const Transformer model = with_experts(small_llama(1), 8, 2, 512);
    ParallelPlan plan{.precision = Dtype::fp8, .fp8_recipe = Fp8Recipe::mxfp8};
    const Program apart = verified(model, plan);
    EXPECT_EQ(ops_called(apart, "expert fc2 cast").size(), 1U);
    EXPECT_EQ(ops_called(apart, "expert fc1 dgrad cast").size(), 1U);
    plan.moe_fused_activation = true;
    const Program program = verified(model, plan);
    EXPECT_TRUE(ops_called(program, "expert fc2 cast").empty());
    EXPECT_TRUE(ops_called(program, "expert fc1 dgrad cast").empty());
    constexpr std::int64_t kElements = 4096 * 2 * 512;
    const auto moved = [&](std::string_view name) {
        const std::vector<const Op*> ops = ops_called(program, name);
        EXPECT_EQ(ops.size(), 1U);
        EXPECT_EQ(ops.front()->launches, 0);
        return program.kernel(*ops.front()).bytes;
    };
    EXPECT_EQ(moved("activation"), 2 * kElements);
    EXPECT_EQ(moved("activation backward"), 6 * kElements);
    EXPECT_EQ(bytes_of_tensor(program, "activation"), kElements);
    EXPECT_EQ(bytes_of_tensor(apart, "activation"), 2 * kElements);
}

// Each input is a byte an element, cast once in either direction. What is computed again begins
// with the cast back.
TEST(ActivationLowering, KeepsItsInputInFp8) {
    const Transformer dense = small_llama(1);
    const Transformer experts = with_experts(small_llama(1), 8, 2, 512);
    const auto in_fp8 = [](ParallelPlan plan) {
        plan.activation_func_fp8_input_store = true;
        return plan;
    };
    ParallelPlan again{.recompute_granularity = Recompute::selective};
    again.recompute_modules = static_cast<std::uint32_t>(RecomputeModule::moe_act);
    for (const auto& [model, plan] : {std::pair{dense, ParallelPlan{}},
                                      std::pair{experts, ParallelPlan{}},
                                      std::pair{experts, again}}) {
        const Program kept = verified(model, in_fp8(plan));
        EXPECT_EQ(ops_called(kept, "activation input cast").size(), 2U);
        EXPECT_TRUE(ops_called(verified(model, plan), "activation input cast").empty());
        const std::int64_t bytes = bytes_of_tensor(kept, "activation input");
        EXPECT_GT(bytes, 0);
        EXPECT_EQ(bytes_of_tensor(kept, "activation input restored"), 2 * bytes);
    }
    // With several layers the other layers' inputs are a byte shorter.
    const Transformer many = with_experts(small_llama(9), 8, 2, 512);
    const std::int64_t saved =
        activation_peak(verified(many, again)) - activation_peak(verified(many, in_fp8(again)));
    const std::int64_t bytes = bytes_of_tensor(verified(many, in_fp8(again)), "activation input");
    EXPECT_GE(saved, 6 * bytes);
    EXPECT_LE(saved, 9 * bytes);
}

// DualPipe has two backward segments for a chunk, whole and split: each casts the input back.
TEST(ActivationLowering, EachBackwardSegmentRestoresTheInput) {
    ParallelPlan plan{.activation_func_fp8_input_store = true};
    plan.pipeline_model_parallel_size = 2;
    plan.schedule = ScheduleKind::dual_pipe;
    plan.global_batch_size = 4;
    plan.overlap_p2p = true;
    const Program program = verified(small_llama(2), plan);
    const std::size_t forward = ops_called(program, "activation").size();
    const std::size_t backward = ops_called(program, "activation backward").size();
    EXPECT_GT(backward, forward);
    EXPECT_EQ(ops_called(program, "activation input cast").size(), forward + backward);
}

// A fused activation clamps on its way. Otherwise kernels clamp the halves, put them together and
// undo that in the backward pass: 8 and 10 times the bytes of a half.
TEST(ActivationLowering, ClampsAreKernelsOfTheirOwn) {
    Transformer model = small_llama(1);
    const auto moved = [&](const ParallelPlan& plan, std::string_view name) {
        const Program program = verified(model, plan);
        std::int64_t bytes = 0;
        for (const Op* op : ops_called(program, name)) {
            bytes += program.kernel(*op).bytes;
        }
        return bytes;
    };
    const ParallelPlan apart{.fused_activation = false};
    EXPECT_EQ(moved(apart, "activation clamp"), 0);
    model.activation_func_clamp_value = 7;
    EXPECT_EQ(moved({}, "activation clamp"), 0);
    const std::int64_t half = moved(apart, "activation") / 3;
    EXPECT_GT(half, 0);
    EXPECT_EQ(moved(apart, "activation clamp"), 8 * half);
    EXPECT_EQ(moved(apart, "activation clamp backward"), 10 * half);
    EXPECT_EQ(moved(apart, "activation product"), 0);
}

}  // namespace
}  // namespace orrery
