// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast/cast_cpu.h"

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Draw;
using numeric::Tensor;

TEST(CastCpu, RoundsEveryElementAndWidensExactly) {
    Draw draw{1};
    const Tensor x = draw.tensor(9001, Dtype::fp32);
    Tensor narrow{x.size(), Dtype::bf16};
    Tensor wide{x.size(), Dtype::fp32};
    cast(x.view(), narrow.view());
    cast(narrow.view(), wide.view());
    for (std::int64_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(bf16_at(narrow.view(), i), bf16_of_float(load(x.view(), i)));
        ASSERT_EQ(wide.at(i), narrow.at(i));
    }
}

TEST(CastTransposeCpu, WritesBothCopies) {
    Draw draw{2};
    const Tensor x = draw.tensor(5 * 7, Dtype::fp32);
    Tensor to{35, Dtype::bf16};
    Tensor transposed{35, Dtype::bf16};
    cast_transpose(5, 7, x.view(), to.view(), transposed.view());
    for (std::int64_t r = 0; r < 5; ++r) {
        for (std::int64_t c = 0; c < 7; ++c) {
            EXPECT_EQ(bf16_at(to.view(), r * 7 + c), bf16_of_float(load(x.view(), r * 7 + c)));
            EXPECT_EQ(transposed.at(c * 5 + r), to.at(r * 7 + c));
        }
    }
}

TEST(CastCpu, LargestMagnitudeIsThatOfEitherSign) {
    const std::vector<float> x{1.0f, -3.5f, 2.0f};
    EXPECT_EQ(largest_magnitude(const_view_of(x)), 3.5f);
    EXPECT_EQ(largest_magnitude({}), 0.0f);
}

}  // namespace
}  // namespace orrery::cpu
