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

}  // namespace
}  // namespace orrery::cpu
