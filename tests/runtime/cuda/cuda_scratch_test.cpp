// SPDX-License-Identifier: Apache-2.0
// That every op of a model gets the scratch memory that it asks for is tested where ops run:
// kernel_launches_test.cpp.
#include <gtest/gtest.h>

#include "runtime/cuda/cuda_kernels.h"

namespace orrery {
namespace {

TEST(CudaScratch, OfABiasGradientIsItsPartialSums) {
    const Program program;
    const KernelCall call{
        .kind = KernelKind::bias_gradient, .dtype = Dtype::bf16, .dims = {1000, 512}};
    const BoundOperand dy{.view = {nullptr, Dtype::bf16, 512'000}};
    const BoundOperand dbias{.view = {nullptr, Dtype::fp32, 512}};
    const BoundOp op{
        .program = program, .call = call, .reads = {dy}, .writes = {}, .accumulates = {dbias}};
    EXPECT_EQ(scratch_bytes_on_cuda(op), 250 * 512 * 4);
}

}  // namespace
}  // namespace orrery
