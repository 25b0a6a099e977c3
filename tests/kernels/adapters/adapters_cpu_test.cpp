// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapters/adapters_cpu.h"

#include "tests/kernels/adapters/adapter_cases.h"

namespace orrery::cpu {
namespace {

TEST(AdaptersCpu, EachRowGetsItsOwnAdapterOrNone) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            const numeric::AdapterCase c{seed, dtype};
            numeric::Tensor y = c.y;
            add_adapters(c.shape, c.operands(y));
            EXPECT_LT(numeric::relative_error(y, c.expected()), numeric::tolerance(dtype));
        }
    }
}

TEST(AdaptersCpu, ARowWithoutAdapterKeepsItsBits) {
    numeric::AdapterCase c{7, Dtype::bf16};
    std::ranges::fill(c.numbers, -1);
    numeric::Tensor y = c.y;
    add_adapters(c.shape, c.operands(y));
    EXPECT_EQ(y, c.y);
}

}  // namespace
}  // namespace orrery::cpu
