// SPDX-License-Identifier: Apache-2.0
// The binding of operands to kernels, where a whole model does not show a mistake: transposes.
#include "runtime/cpu/cpu_kernels.h"

#include <gtest/gtest.h>

#include <array>

#include "kernels/cast/cast.h"
#include "kernels/gemm/gemm.h"
#include "kernels/residual/residual.h"

namespace orrery {
namespace {

// A[2, 3] B[3, 2] by hand.
constexpr std::array<float, 6> kA{1, 2, 3, 4, 5, 6};
constexpr std::array<float, 6> kB{7, 8, 9, 10, 11, 12};
constexpr std::array<float, 4> kProduct{58, 64, 139, 154};

std::vector<float> matrix(const std::array<float, 6>& m, int rows, bool transposed) {
    std::vector<float> result;
    const int columns = 6 / rows;
    for (int i = 0; i < 6; ++i) {
        const int at = transposed ? (i % rows) * columns + i / rows : i;
        result.push_back(m[static_cast<std::size_t>(at)]);
    }
    return result;
}

TEST(CpuKernels, ProductsTakeEveryOperandTransposed) {
    const Program program;
    const KernelCall call = gemm(2, 2, 3, 1, Dtype::fp32, GemmEpilogue::none, Dtype::fp32);
    for (int flags = 0; flags < 16; ++flags) {
        const bool ta = (flags & 1) != 0;
        const bool tb = (flags & 2) != 0;
        const bool tc = (flags & 4) != 0;
        const bool accumulate = (flags & 8) != 0;
        std::vector<float> a = matrix(kA, 2, ta);
        std::vector<float> b = matrix(kB, 3, tb);
        std::vector<float> c(4, 1.0f);
        BoundOp op{.program = program, .call = call, .reads = {}, .writes = {}, .accumulates = {}};
        const auto operand = [](std::vector<float>& values, bool transposed) {
            return BoundOperand{view_of(std::span<float>{values}), nullptr, transposed};
        };
        op.reads.push_back(operand(a, ta));
        op.reads.push_back(operand(b, tb));
        (accumulate ? op.accumulates : op.writes).push_back(operand(c, tc));
        run_on_cpu(op);
        for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t at = tc ? i % 2 * 2 + i / 2 : i;
            EXPECT_EQ(c[at], kProduct[i] + (accumulate ? 1.0f : 0.0f)) << "flags " << flags;
        }
    }
}

TEST(CpuKernels, SayWhatTheyCannotDo) {
    EXPECT_EQ(why_not_on_cpu(residual_add(4, 4, Dtype::fp32)), "");
    EXPECT_EQ(why_not_on_cpu(bias_dropout_add(4, 4, Dtype::fp32)), "");
    EXPECT_NE(why_not_on_cpu(residual_add(4, 4, Dtype::fp16)), "");
    EXPECT_EQ(why_not_on_cpu(cast(4, Dtype::bf16, Dtype::bf16)), "");
    EXPECT_NE(why_not_on_cpu(cast(4, Dtype::bf16, Dtype::fp8)), "");
    EXPECT_NE(why_not_on_cpu(cast_transpose(4, 4, Dtype::bf16, Dtype::bf16)), "");
}

}  // namespace
}  // namespace orrery
