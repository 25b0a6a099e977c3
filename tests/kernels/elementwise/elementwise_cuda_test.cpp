// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/elementwise_cuda.h"

#include "kernels/elementwise/elementwise_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using emulation::EmulatedQueue;
using emulation::ThreadOrder;
using numeric::Draw;
using numeric::Tensor;

TEST(ElementwiseCuda, ReductionsAndTranspositionsAreTheCpusBitByBit) {
    for (std::uint64_t seed = 1; seed <= 16; ++seed) {
        Draw draw{seed};
        const Dtype dtype = draw.coin() ? Dtype::fp32 : Dtype::bf16;
        const std::int64_t rows = draw.between(1, 70);
        const std::int64_t columns = draw.between(1, 70);
        std::vector<Tensor> chunks;
        for (std::int64_t i = draw.between(1, 5); i > 0; --i) {
            chunks.push_back(draw.tensor(rows * columns, dtype));
        }
        std::vector<ConstTensorView> views;
        for (const Tensor& chunk : chunks) {
            views.push_back(chunk.view());
        }
        Tensor sum{rows * columns, dtype};
        Tensor expected = sum;
        EmulatedQueue queue{ThreadOrder::descending};
        reduce_local(queue, views, sum.view());
        cpu::reduce_local(views, expected.view());
        EXPECT_TRUE(sum == expected) << seed;
        Tensor transposed = sum;
        transpose(queue, rows, columns, sum.view(), transposed.view());
        cpu::transpose(rows, columns, sum.view(), expected.view());
        EXPECT_TRUE(transposed == expected) << seed;
    }
}

TEST(ScaleAddCuda, FillsScalesAddsAndCopies) {
    for (const std::int64_t size : {1, 15, 4096}) {
        Draw draw{1};
        const Tensor x = draw.tensor(size, Dtype::fp32);
        Tensor y = draw.tensor(size, Dtype::fp32);
        const Tensor before = y;
        EmulatedQueue queue;
        scale_add(queue, 2.0f, x.view(), 0.5f, y.view());
        for (std::int64_t i = 0; i < size; ++i) {
            EXPECT_NEAR(y.at(i), 2 * x.at(i) + before.at(i) / 2, 1e-6);
        }
        scale_add(queue, 1.0f, x.view(), 0.0f, y.view());
        EXPECT_TRUE(y == x);
        scale_add(queue, 0.0f, ConstTensorView{}, 0.0f, y.view());
        EXPECT_TRUE(y == Tensor(size, Dtype::fp32));
    }
}

std::uint64_t checksum_of(ThreadOrder order, ConstTensorView data) {
    std::vector<std::uint64_t> sum(1);
    EmulatedQueue queue{order};
    checksum(queue, data, {reinterpret_cast<std::byte*>(sum.data()), Dtype::int32, 2});
    return sum[0];
}

TEST(ChecksumCuda, IsTheSumOfMixedWordsInEveryOrderAndSeesEveryBit) {
    for (const std::int64_t size : {1, 2, 31, 5000}) {
        Draw draw{2};
        Tensor data = draw.tensor(size, Dtype::bf16);
        std::uint64_t expected = 0;
        for (std::int64_t i = 0; i < size; i += 2) {
            const std::uint32_t high = i + 1 < size ? bf16_at(data.view(), i + 1) : 0u;
            expected +=
                mix_word(static_cast<std::uint64_t>(i / 2), bf16_at(data.view(), i) | high << 16);
        }
        EXPECT_EQ(checksum_of(ThreadOrder::ascending, data.view()), expected);
        EXPECT_EQ(checksum_of(ThreadOrder::shuffled, data.view()), expected);
        if (size > 2) {  // as a view that is not 4-byte aligned
            EXPECT_NE(checksum_of(ThreadOrder::ascending, slice(data.view(), 1, size - 1)),
                      expected);
        }
        data.view().data[size - 1] ^= std::byte{4};
        EXPECT_NE(checksum_of(ThreadOrder::ascending, data.view()), expected);
    }
}

}  // namespace
}  // namespace orrery::device
