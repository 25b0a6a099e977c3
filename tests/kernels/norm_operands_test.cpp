// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm_operands.h"

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Tensor;

TEST(NormOperands, TheNormSeesTheSumAsStored) {
    // 1 + 2^-9 is a tie between two bf16 numbers: the even one is 1.
    Tensor x{2, Dtype::bf16};
    Tensor residual{2, Dtype::bf16};
    Tensor sum{2, Dtype::bf16};
    store(x.view(), 1, 1.0f);
    store(residual.view(), 1, 0x1p-8f);
    std::vector<float> row(1);
    load_norm_input(
        {.x = x.view(), .residual = residual.view(), .weight = {}, .sum = sum.view()}, 1, row);
    EXPECT_EQ(row[0], 1.0f);
    EXPECT_EQ(sum.at(1), 1.0);
    load_norm_input({.x = residual.view(), .weight = {}}, 1, row);
    EXPECT_EQ(row[0], 0x1p-8f);
}

TEST(NormOperands, GradientsAddUp) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        Tensor dweight{3, dtype};
        const std::vector<float> gradient{1.0f, 2.0f, -0.5f};
        const NormBackward operands{.dweight = dweight.view()};
        add_norm_gradient(operands, gradient);
        add_norm_gradient(operands, gradient);
        EXPECT_EQ(dweight.doubles(), (numeric::Doubles{2, 4, -1}));
    }
}

}  // namespace
}  // namespace orrery::cpu
