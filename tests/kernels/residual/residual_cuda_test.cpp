// SPDX-License-Identifier: Apache-2.0
#include "kernels/residual/residual_cuda.h"

#include "kernels/residual/residual_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using emulation::EmulatedQueue;
using emulation::ThreadOrder;
using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

TEST(ResidualCuda, AddsAsTheCpuDoesBitByBit) {
    for (std::uint64_t seed = 1; seed <= 16; ++seed) {
        Draw draw{seed};
        const auto dtype = [&] { return draw.coin() ? Dtype::fp32 : Dtype::bf16; };
        const std::int64_t size = draw.between(1, 5000);
        const Tensor a = draw.tensor(size, dtype());
        const Tensor b = draw.tensor(size, dtype());
        Tensor sum{size, dtype()};
        Tensor expected = sum;
        EmulatedQueue queue;
        residual_add(queue, a.view(), b.view(), sum.view());
        cpu::residual_add(a.view(), b.view(), expected.view());
        EXPECT_TRUE(sum == expected) << seed;
    }
}

// Views that begin in the middle of 16 bytes.
TEST(ResidualCuda, AddsWhatIsNotAligned) {
    Draw draw{2};
    const Tensor a = draw.tensor(100, Dtype::bf16);
    Tensor sum = a;
    Tensor expected = a;
    EmulatedQueue queue;
    residual_add(queue, slice(a.view(), 3, 90), slice(sum.view(), 1, 90), slice(sum.view(), 1, 90));
    cpu::residual_add(
        slice(a.view(), 3, 90), slice(expected.view(), 1, 90), slice(expected.view(), 1, 90));
    EXPECT_TRUE(sum == expected);
}

TEST(ResidualCuda, AddsBiasesToEveryRow) {
    for (const std::int64_t width : {5, 24, 1032}) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            Draw draw{4};
            const Tensor a = draw.tensor(3 * width, dtype);
            const Tensor b = draw.tensor(3 * width, dtype);
            const Tensor first = draw.tensor(width, dtype);
            const Tensor second = draw.tensor(width, Dtype::fp32);
            Tensor sum{a.size(), dtype};
            Doubles expected;
            for (std::int64_t i = 0; i < a.size(); ++i) {
                expected.push_back(a.at(i) + b.at(i) + first.at(i % width) + second.at(i % width));
            }
            EmulatedQueue queue;
            const std::vector<ConstTensorView> biases{first.view(), second.view()};
            residual_add_biases(queue, width, a.view(), b.view(), biases, sum.view());
            EXPECT_LT(numeric::relative_error(sum, expected), numeric::tolerance(dtype));
        }
    }
}

// The CPU's dropout, by the element's place in the whole value.
TEST(ResidualCuda, DropsTheElementsThatTheCpuDrops) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Draw draw{seed};
        const std::int64_t width = draw.coin() ? draw.between(1, 30) : 8 * draw.between(1, 20);
        const ValueShard shard{.sequence = balanced_positions(2 * draw.between(1, 3), 1, 2),
                               .batch = draw.between(1, 2),
                               .width = width,
                               .first_column = draw.between(0, 9),
                               .global_width = width + 9};
        const cpu::DropoutArguments dropout{
            .key = {.seed = seed, .purpose = RandomPurpose::mlp_dropout, .stream = 3, .round = 7},
            .rate = 0.3f};
        const Tensor branch = draw.tensor(shard.size(), Dtype::fp32);
        const Tensor residual = draw.tensor(shard.size(), Dtype::fp32);
        const Tensor bias = draw.tensor(width, Dtype::fp32);
        Tensor sum{shard.size(), Dtype::fp32};
        Tensor expected = sum;
        Tensor mask{shard.size(), Dtype::uint8};
        Tensor expected_mask = mask;
        EmulatedQueue queue;
        bias_dropout_add(queue,
                         shard,
                         dropout,
                         {branch.view(), bias.view(), residual.view(), sum.view(), mask.view()});
        cpu::bias_dropout_add(
            shard,
            dropout,
            {branch.view(), bias.view(), residual.view(), expected.view(), expected_mask.view()});
        EXPECT_TRUE(sum == expected && mask == expected_mask) << seed;
        dropout_forward(queue, shard, dropout, branch.view(), sum.view());
        cpu::dropout_forward(shard, dropout, branch.view(), expected.view());
        EXPECT_TRUE(sum == expected) << seed;
    }
}

TEST(BiasGradientCuda, IsTheColumnSumsWhateverTheOrderOfThreads) {
    for (const auto& [tokens, columns] : {std::pair{1, 3}, {700, 37}, {300, 1048}}) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            Draw draw{6};
            const Tensor dy = draw.tensor(tokens * columns, dtype);
            const Tensor before = draw.tensor(columns, Dtype::fp32);
            Doubles expected = before.doubles();
            for (std::int64_t i = 0; i < dy.size(); ++i) {
                expected[static_cast<std::size_t>(i % columns)] += dy.at(i);
            }
            Tensor sums[2] = {before, before};
            EmulatedQueue ascending{ThreadOrder::ascending};
            EmulatedQueue descending{ThreadOrder::descending};
            bias_gradient(ascending, tokens, columns, dy.view(), sums[0].view());
            bias_gradient(descending, tokens, columns, dy.view(), sums[1].view());
            EXPECT_LT(numeric::relative_error(sums[0], expected), 1e-5);
            EXPECT_TRUE(sums[0] == sums[1]);
        }
    }
}

}  // namespace
}  // namespace orrery::device
