// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu_kernels.h"

#include <gtest/gtest.h>

#include "tests/kernels/numeric.h"

namespace orrery {
namespace {

using numeric::Draw;
using numeric::Tensor;

BoundOperand bound(Tensor& tensor) {
    return {.view = tensor.view()};
}

TEST(CpuKernels, RunByTheirKindAlone) {
    Draw draw{1};
    Tensor x = draw.tensor(12, Dtype::fp32);
    Tensor y{12, Dtype::bf16};
    const KernelCall call{.kind = KernelKind::cast,
                          .dtype = Dtype::fp32,
                          .variant = static_cast<std::uint8_t>(Dtype::bf16),
                          .dims = {12}};
    const BoundOperand reads[] = {bound(x)};
    const BoundOperand writes[] = {bound(y)};
    const CpuKernel cast = cpu_kernel(call.kind);
    ASSERT_NE(cast, nullptr);
    cast({call, reads, writes, {}});
    EXPECT_LT(numeric::relative_error(y, x.doubles()), numeric::tolerance(Dtype::bf16));
}

TEST(CpuKernels, LeaveToTheRuntimeWhatDependsOnShards) {
    EXPECT_NE(cpu_kernel(KernelKind::swiglu_forward), nullptr);
    EXPECT_NE(cpu_kernel(KernelKind::layernorm_backward), nullptr);
    EXPECT_EQ(cpu_kernel(KernelKind::embedding_forward), nullptr);
    EXPECT_EQ(cpu_kernel(KernelKind::adamw), nullptr);
}

}  // namespace
}  // namespace orrery
