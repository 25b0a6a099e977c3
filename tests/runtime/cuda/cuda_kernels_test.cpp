// SPDX-License-Identifier: Apache-2.0
// What the kernels compute is tested on an emulation: kernel_launches_test.cpp.
#include "runtime/cuda/cuda_kernels.h"

#include <gtest/gtest.h>

#include "kernels/attention/attention.h"

namespace orrery {
namespace {

TEST(CudaKernels, SayWhichKernelsTheyDoNotHave) {
    EXPECT_NE(why_not_on_cuda({.kind = KernelKind::gemm}), "") << "cuBLASLt's";
    EXPECT_EQ(why_not_on_cuda({.kind = KernelKind::lamb_update}), "");
    EXPECT_EQ(why_not_on_cuda({.kind = KernelKind::lamb}), "");
    EXPECT_EQ(why_not_on_cuda({.kind = KernelKind::residual_add, .variant = 1}), "");
    EXPECT_NE(why_not_on_cuda({.kind = KernelKind::adamw, .dtype = Dtype::fp8}), "");
    EXPECT_EQ(why_not_on_cuda({.kind = KernelKind::adamw}), "");
}

TEST(CudaKernels, SayWhichShapesTheyDoNotTake) {
    AttentionShape attention{.seq_q = 8, .seq_kv = 8, .heads = 2, .kv_heads = 1, .head_dim = 128};
    EXPECT_EQ(why_not_on_cuda(attention_backward(attention, Dtype::bf16)), "");
    attention.head_dim = 512;
    EXPECT_NE(why_not_on_cuda(attention_backward(attention, Dtype::bf16)), "");
    EXPECT_EQ(why_not_on_cuda({.kind = KernelKind::rmsnorm_forward, .dims = {4, 16'384}}), "");
    EXPECT_NE(why_not_on_cuda({.kind = KernelKind::rmsnorm_forward, .dims = {4, 20'480}}), "");
    EXPECT_NE(why_not_on_cuda({.kind = KernelKind::rope, .dims = {4, 4, 512}}), "");
}

}  // namespace
}  // namespace orrery
