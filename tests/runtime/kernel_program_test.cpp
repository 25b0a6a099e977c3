// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/catalogue.h"
#include "kernels/quantise/quantise.h"
#include "runtime/kernel_operands.h"
#include "runtime/make_executor.h"

namespace orrery {
namespace {

std::vector<KernelCall> listed_calls(Dtype dtype) {
    const AttentionShape attention{
        .batch = 2, .seq_q = 16, .seq_kv = 16, .heads = 4, .kv_heads = 2, .head_dim = 8};
    return {gemm(24, 16, 8, 1, dtype, GemmEpilogue::none, dtype),
            gemm(24, 16, 8, 1, dtype, GemmEpilogue::bias, dtype),
            gemm(24, 16, 8, 1, dtype, GemmEpilogue::accumulate, dtype),
            gemm(24, 16, 8, 1, dtype, GemmEpilogue::accumulate, Dtype::fp32),
            attention_forward(attention, dtype),
            attention_backward(attention, dtype),
            layernorm_forward(12, 16, dtype),
            layernorm_forward(12, 16, dtype, true),
            layernorm_backward(12, 16, dtype),
            layernorm_backward(12, 16, dtype, true),
            rmsnorm_forward(12, 16, dtype),
            rmsnorm_backward(12, 16, dtype, true),
            rope(12, 6, 8, dtype),
            gelu_forward(12, 16, dtype),
            gelu_backward(12, 16, dtype),
            swiglu_forward(12, 16, dtype),
            swiglu_backward(12, 16, dtype),
            residual_add(12, 16, dtype),
            bias_gradient(12, 16, dtype),
            embedding_forward(12, 16, 40, dtype),
            embedding_backward(12, 16, 40, dtype),
            cross_entropy_forward(12, 40, dtype, true),
            cross_entropy_backward(12, 40, dtype, true),
            gradient_accumulate(100, dtype),
            gradient_norm(100, dtype),
            gradient_scale(100, dtype),
            adamw(100, dtype),
            quantise({.parts = 2, .elements = 30, .block = 8, .bits = 4}, {}, dtype),
            dequantise({.parts = 2, .elements = 30, .block = 8, .bits = 8}, 3, dtype)};
}

// One of each other kernel that runs by itself, by its key.
std::vector<KernelCall> some_calls(Dtype dtype) {
    std::vector<KernelCall> calls = listed_calls(dtype);
    for (std::size_t i = 0; i < kNumKernelKinds; ++i) {
        const auto kind = static_cast<KernelKind>(i);
        const bool listed = std::ranges::find(calls, kind, &KernelCall::kind) != calls.end();
        std::array<std::int64_t, 6> dims{12, 16, 8, 4, 2, 8};
        std::fill(dims.begin() + static_cast<std::ptrdiff_t>(descriptor_of(kind).num_dims),
                  dims.end(),
                  0);
        const auto call = call_from_key(kind, dtype, 0, dims);
        if (!listed && call && kernel_program(*call)) {
            calls.push_back(*call);
        }
    }
    return calls;
}

TEST(KernelProgram, FindsKernelsThatNoTestLists) {
    EXPECT_GT(some_calls(Dtype::fp32).size(), listed_calls(Dtype::fp32).size());
}

TEST(KernelProgram, HasTheOperandsThatExecutorsExpect) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        for (const KernelCall& call : some_calls(dtype)) {
            const auto kernel = kernel_program(call);
            ASSERT_TRUE(kernel) << name(call.kind);
            const Program& p = *kernel->program;
            EXPECT_EQ(check_kernel_operands(p, RankId{}, p.segments[0].ops[0]), "")
                << name(call.kind);
            EXPECT_FALSE(kernel->results.empty()) << name(call.kind);
        }
    }
}

TEST(KernelProgram, RunsOnTheCpuAndLeavesNumbers) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        for (const KernelCall& call : some_calls(dtype)) {
            const auto same = compare_kernel(call, DeviceChoice::cpu, DeviceChoice::cpu);
            ASSERT_TRUE(same) << same.error().to_string();
            EXPECT_EQ(*same, 0.0) << name(call.kind);  // not NaN
        }
    }
}

// Results are made by the kernel: they are not what was there before, and not all zero.
TEST(KernelProgram, ChangesItsResults) {
    for (const KernelCall& call : some_calls(Dtype::fp32)) {
        const auto kernel = kernel_program(call);
        auto made = make_executor(DeviceChoice::cpu, *kernel->program, RankId{0}, nullptr);
        ASSERT_TRUE(made) << made.error().to_string();
        Executor* const executor = made->get();
        for (const TensorId id : kernel->results) {
            const auto values = [&] {
                const ConstTensorView view = executor->read(id);
                return std::vector<std::byte>(view.data,
                                              view.data + view.size * size_bytes(view.dtype));
            };
            fill_operands(*kernel, *executor);
            const auto before = values();
            ASSERT_TRUE(executor->run_step());
            EXPECT_NE(values(), before) << name(call.kind);
        }
    }
}

TEST(KernelProgram, SaysWhichKernelDoesNotRunByItself) {
    const auto difference = compare_kernel(
        {.kind = KernelKind::lamb, .dims = {4}}, DeviceChoice::cpu, DeviceChoice::cpu);
    ASSERT_FALSE(difference);
    EXPECT_NE(difference.error().what.find("lamb"), std::string::npos);
}

}  // namespace
}  // namespace orrery
