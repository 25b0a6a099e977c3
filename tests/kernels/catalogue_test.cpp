// SPDX-License-Identifier: Apache-2.0
// Closed forms of the header-only descriptors, and the way back from a key to its call.
#include "kernels/catalogue.h"

#include <gtest/gtest.h>

#include <random>

namespace orrery {
namespace {

constexpr Dtype kBf16 = Dtype::bf16;

TEST(Gemm, CountsTwoMnkFlopAndEachOperandOnce) {
    const KernelCall call = gemm(512, 1024, 2048, 3, kBf16, GemmEpilogue::none, kBf16);
    EXPECT_DOUBLE_EQ(call.flop, 2.0 * 512 * 1024 * 2048 * 3);
    EXPECT_EQ(call.bytes, 2 * 3 * (512 * 2048 + 2048 * 1024 + 512 * 1024));
}

TEST(Gemm, AccumulationReadsAndWritesTheGradient) {
    const auto bytes = [](Dtype gradient) {
        return gemm(64, 128, 256, 1, kBf16, GemmEpilogue::accumulate, gradient).bytes;
    };
    EXPECT_EQ(bytes(Dtype::fp32), 2 * (64 * 256 + 256 * 128) + 8 * 64 * 128);
    EXPECT_EQ(bytes(kBf16), 2 * (64 * 256 + 256 * 128) + 4 * 64 * 128);
}

TEST(Gemm, EpiloguesAddTheirOperands) {
    const auto bytes = [](GemmEpilogue epilogue) {
        return gemm(64, 128, 256, 1, kBf16, epilogue, kBf16).bytes;
    };
    EXPECT_EQ(bytes(GemmEpilogue::bias) - bytes(GemmEpilogue::none), 2 * 128);
    EXPECT_EQ(bytes(GemmEpilogue::gelu) - bytes(GemmEpilogue::bias), 2 * 64 * 128);
    EXPECT_EQ(bytes(GemmEpilogue::dgelu) - bytes(GemmEpilogue::none), 2 * 64 * 128);
}

TEST(Norms, MoveTwoOrThreeActivationsAndTwoMoreWithTheResidual) {
    const std::int64_t activation = 2 * 1000 * 512;
    EXPECT_EQ(layernorm_forward(1000, 512, kBf16).bytes, 2 * activation + 2 * 512 * 2 + 8000);
    EXPECT_EQ(rmsnorm_backward(1000, 512, kBf16).bytes, 3 * activation + 2 * 512 * 2 + 4000);
    EXPECT_EQ(
        layernorm_forward(1000, 512, kBf16, true).bytes - layernorm_forward(1000, 512, kBf16).bytes,
        2 * activation);
    EXPECT_EQ(
        rmsnorm_backward(1000, 512, kBf16, true).bytes - rmsnorm_backward(1000, 512, kBf16).bytes,
        activation);
}

TEST(Activations, CountTheirOperands) {
    const std::int64_t activation = 2 * 1000 * 512;
    EXPECT_EQ(gelu_forward(1000, 512, kBf16).bytes, 2 * activation);
    EXPECT_EQ(gelu_backward(1000, 512, kBf16).bytes, 3 * activation);
    EXPECT_EQ(swiglu_forward(1000, 512, kBf16).bytes, 3 * activation);
    EXPECT_EQ(swiglu_backward(1000, 512, kBf16).bytes, 5 * activation);
    EXPECT_EQ(residual_add(1000, 512, kBf16).bytes, 3 * activation);
    EXPECT_EQ(dropout(1000, 512, kBf16).bytes, 2 * activation + 1000 * 512);
}

TEST(Optimizer, AdamwMovesThirtyBytesAParameter) {
    EXPECT_EQ(adamw(1000).bytes, 30'000);
    EXPECT_EQ(adamw(1000, Dtype::fp32, Dtype::fp32).bytes, 28'000);
    EXPECT_EQ(adamw(1000, kBf16, kBf16).bytes, 28'000);
    EXPECT_EQ(lamb_update(1000).bytes, 36'000);
    EXPECT_EQ(lamb(1000).bytes, 14'000);
    EXPECT_EQ(gradient_accumulate(1000).bytes, 10'000);
    EXPECT_EQ(gradient_norm(1000).bytes, 4'000);
    EXPECT_EQ(gradient_scale(1000).bytes, 8'000);
}

TEST(CrossEntropy, MetricCopiesLogitsToFp32AndNormalisesThem) {
    EXPECT_EQ(loss_metric(10, 100, kBf16).bytes, 14'000);
    const KernelCall metric = loss_metric(10, 100, kBf16);
    EXPECT_EQ(call_from_key(metric.kind, metric.dtype, metric.variant, metric.dims), metric);
}

TEST(CrossEntropy, FusedReadsLogitsOnceForward) {
    EXPECT_EQ(cross_entropy_forward(10, 100, kBf16, true).bytes, 2'000);
    EXPECT_EQ(cross_entropy_backward(10, 100, kBf16, true).bytes, 4'000);
    EXPECT_GT(cross_entropy_forward(10, 100, kBf16, false).bytes, 30'000);
}

TEST(Softmax, StepsOfTheirOwnMoveMore) {
    SoftmaxShape shape{.batch = 2, .heads = 4, .seq_q = 64, .seq_kv = 64};
    const std::int64_t scores = 2 * 4 * 64 * 64;
    EXPECT_EQ(softmax_forward(shape, kBf16).bytes, 4 * scores);
    shape.dropout = true;
    EXPECT_EQ(softmax_forward(shape, kBf16).bytes, 9 * scores);
    shape.unfused_steps = true;
    EXPECT_EQ(softmax_forward(shape, kBf16).bytes, 17 * scores);
    EXPECT_EQ(softmax_backward(shape, kBf16).bytes, 19 * scores);
}

std::vector<KernelCall> one_of_each(std::int64_t a, std::int64_t b, Dtype dtype, bool flag) {
    const AttentionShape attention{.batch = 2,
                                   .seq_q = a,
                                   .seq_kv = a,
                                   .heads = 4,
                                   .kv_heads = 2,
                                   .head_dim = 64,
                                   .causal = flag};
    const SoftmaxShape softmax{
        .batch = 2, .heads = 4, .seq_q = a, .seq_kv = b, .causal = flag, .dropout = flag};
    return {gemm(a, b, a, 2, dtype, flag ? GemmEpilogue::gelu : GemmEpilogue::none, Dtype::fp32),
            attention_forward(attention, dtype),
            attention_backward(attention, dtype),
            softmax_forward(softmax, dtype),
            softmax_backward(softmax, dtype),
            layernorm_forward(a, b, dtype, flag),
            layernorm_backward(a, b, dtype, flag),
            rmsnorm_forward(a, b, dtype, flag),
            rmsnorm_backward(a, b, dtype, flag),
            rope(a, b, 64, dtype),
            gelu_forward(a, b, dtype, flag),
            gelu_backward(a, b, dtype, flag),
            swiglu_forward(a, b, dtype, flag),
            swiglu_backward(a, b, dtype, flag),
            flag ? bias_dropout_add(a, b, dtype) : residual_add(a, b, dtype),
            dropout(a, b, dtype),
            bias_gradient(a, b, dtype),
            embedding_forward(a, b, 1000, dtype),
            embedding_backward(a, b, 1000, dtype),
            cross_entropy_forward(a, b, dtype, flag),
            cross_entropy_backward(a, b, dtype, flag),
            flag ? cast_transpose(a, b, dtype, Dtype::fp8) : cast(a, dtype, Dtype::fp8),
            gradient_accumulate(a, dtype),
            gradient_norm(a, dtype),
            gradient_scale(a, dtype),
            adamw(a, dtype),
            lamb_update(a, dtype),
            lamb(a, dtype),
            transpose(a, b, dtype)};
}

TEST(Catalogue, FindsACallByItsKey) {
    std::mt19937 random(11);
    for (int i = 0; i < 50; ++i) {
        const auto calls = one_of_each(1 + random() % 5000,
                                       1 + random() % 5000,
                                       random() % 2 ? Dtype::bf16 : Dtype::fp32,
                                       random() % 2 == 0);
        for (std::size_t kind = 0; kind < calls.size(); ++kind) {
            const KernelCall& call = calls[kind];
            ASSERT_EQ(static_cast<std::size_t>(call.kind), kind) << name(call.kind);
            const auto found = call_from_key(call.kind, call.dtype, call.variant, call.dims);
            ASSERT_TRUE(found) << name(call.kind);
            EXPECT_EQ(*found, call) << name(call.kind);
        }
    }
}

// Kernels that are tested in folders of their own among them.
TEST(Catalogue, HasADescriptorThatMakesCallsOfItsKind) {
    for (std::size_t i = 0; i < kNumKernelKinds; ++i) {
        const auto kind = static_cast<KernelKind>(i);
        const KernelDescriptor& of = descriptor_of(kind);
        EXPECT_EQ(of.kind, kind);
        std::array<std::int64_t, 6> dims{};
        std::fill_n(dims.begin(), of.num_dims, 1);
        EXPECT_EQ(of.call({.kind = kind, .dtype = kBf16, .dims = dims}).kind, kind) << name(kind);
        EXPECT_TRUE(of.operands != nullptr || of.why_not != nullptr) << name(kind);
    }
}

TEST(Catalogue, RejectsKeysThatNoDescriptorMakes) {
    EXPECT_FALSE(call_from_key(KernelKind::gemm, kBf16, 0, {0, 1, 1, 1}));
    EXPECT_FALSE(call_from_key(KernelKind::gemm, kBf16, 7, {1, 1, 1, 1}));
    EXPECT_FALSE(call_from_key(KernelKind::gemm, kBf16, 0, {1, 1, 1, 1, 2}));  // one row, two tiles
    EXPECT_FALSE(call_from_key(KernelKind::gemm, kBf16, 0, {1, 1, 1, 1, 1, 128}));  // no FP8
    EXPECT_FALSE(call_from_key(KernelKind::dropout, kBf16, 1, {1, 1}));
    EXPECT_FALSE(call_from_key(KernelKind::attention_forward, kBf16, 3, {1, 1, 1, 1, 1, 64}));
    EXPECT_FALSE(call_from_key(KernelKind::attention_forward, kBf16, 2, {1, 1, 1, 1, 1, 1 << 16}));
}

TEST(Catalogue, FindsKindsAndDtypesByName) {
    for (std::size_t kind = 0; kind < kNumKernelKinds; ++kind) {
        const auto value = static_cast<KernelKind>(kind);
        EXPECT_EQ(kernel_kind(name(value)), value);
    }
    EXPECT_EQ(dtype_named("fp8"), Dtype::fp8);
    EXPECT_FALSE(kernel_kind("matmul"));
    EXPECT_FALSE(dtype_named("half"));
}

}  // namespace
}  // namespace orrery
