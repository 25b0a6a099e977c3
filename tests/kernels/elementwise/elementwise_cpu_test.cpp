// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/elementwise_cpu.h"

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Draw;
using numeric::Tensor;

TEST(ReduceLocalCpu, AddsChunksInOrderAndRoundsOnce) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        for (const std::int64_t size : {1, 4097}) {
            Draw draw{3};
            Tensor a = draw.tensor(size, dtype);
            const Tensor b = draw.tensor(size, dtype);
            const Tensor c = draw.tensor(size, dtype);
            Tensor sum{size, dtype};
            const std::vector<ConstTensorView> chunks{a.view(), b.view(), c.view()};
            reduce_local(chunks, sum.view());
            Tensor expected{1, dtype};
            for (std::int64_t i = 0; i < size; ++i) {
                const float total = (load(a.view(), i) + load(b.view(), i)) + load(c.view(), i);
                store(expected.view(), 0, total);
                ASSERT_EQ(sum.at(i), expected.at(0));
            }
            reduce_local(chunks, a.view());
            EXPECT_EQ(a, sum);
        }
    }
}

TEST(TransposeCpu, TwiceIsTheSame) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        Draw draw{4};
        const Tensor x = draw.tensor(6 * 11, dtype);
        Tensor turned{x.size(), dtype};
        Tensor back{x.size(), dtype};
        transpose(6, 11, x.view(), turned.view());
        transpose(11, 6, turned.view(), back.view());
        EXPECT_EQ(back, x);
        EXPECT_EQ(turned.at(2 * 6 + 5), x.at(5 * 11 + 2));
    }
}

}  // namespace
}  // namespace orrery::cpu
