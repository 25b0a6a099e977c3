// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantise/quantise_cuda.h"

#include "kernels/quantise/quantise_cpu.h"
#include "kernels/quantise/quantise_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using emulation::EmulatedQueue;
using emulation::ThreadOrder;
using numeric::Draw;
using numeric::Tensor;

using Bytes = std::vector<std::byte>;

TensorView codes_of(Bytes& bytes) {
    return {bytes.data(), Dtype::uint8, static_cast<std::int64_t>(bytes.size())};
}

QuantisedVector shape_of(Draw& draw, int bits, std::int64_t parts, std::int64_t elements) {
    return {.parts = parts,
            .elements = elements,
            .block = 2 * draw.between(1, elements + 1),
            .bits = bits};
}

// Codes of two tensors, their sum quantised anew, and the sum as elements, on both.
void expect_bits_of_the_cpu(std::uint64_t seed, int bits, Dtype dtype, ThreadOrder order) {
    SCOPED_TRACE(testing::Message() << seed << " " << bits);
    Draw draw{seed};
    const std::int64_t parts = 4;
    const std::int64_t a_size = draw.between(1, 900);
    const std::int64_t b_size = draw.between(1, 90);
    const QuantisedVector shape =
        shape_of(draw, bits, parts, (a_size + parts - 1) / parts + (b_size + parts - 1) / parts);
    const Tensor a = draw.tensor(a_size, dtype, -5, 5);
    const Tensor b = draw.tensor(b_size, dtype, -1e-3, 1e-3);
    const std::vector<ConstTensorView> x{a.view(), b.view()};
    const PartOrder hops{.inside = 2, .below = draw.between(1, 2)};
    const auto size = static_cast<std::size_t>(shape.bytes());
    Bytes on_cpu(2 * size);
    Bytes on_device(2 * size, std::byte{0x55});
    EmulatedQueue queue{order};
    for (const std::int64_t term : {0, 1}) {
        cpu::quantise(shape, hops, x, slice(codes_of(on_cpu), term * shape.bytes(), shape.bytes()));
        quantise(queue,
                 shape,
                 hops,
                 std::span<const ConstTensorView>{x},
                 slice(codes_of(on_device), term * shape.bytes(), shape.bytes()));
    }
    ASSERT_EQ(on_cpu, on_device);
    Bytes sum_on_cpu(size);
    Bytes sum_on_device(size, std::byte{0x55});
    cpu::requantise(shape, 2, codes_of(on_cpu), codes_of(sum_on_cpu));
    requantise(queue, shape, 2, codes_of(on_device), codes_of(sum_on_device));
    ASSERT_EQ(sum_on_cpu, sum_on_device);
    for (const bool adds : {false, true}) {
        Tensor a_cpu = draw.tensor(a_size, dtype);
        Tensor b_cpu = draw.tensor(b_size, dtype);
        Tensor a_device = a_cpu;
        Tensor b_device = b_cpu;
        const std::vector<TensorView> y_cpu{a_cpu.view(), b_cpu.view()};
        const std::vector<TensorView> y_device{a_device.view(), b_device.view()};
        cpu::dequantise(shape, 2, codes_of(on_cpu), y_cpu, adds);
        dequantise(
            queue, shape, 2, codes_of(on_device), std::span<const TensorView>{y_device}, adds);
        EXPECT_TRUE(a_cpu == a_device && b_cpu == b_device);
    }
}

TEST(QuantiseCuda, HasTheBitsOfTheCpu) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        for (const int bits : {4, 8}) {
            expect_bits_of_the_cpu(seed, bits, Dtype::fp32, ThreadOrder::ascending);
            expect_bits_of_the_cpu(seed, bits, Dtype::bf16, ThreadOrder::descending);
        }
    }
}

TEST(QuantiseCuda, LaunchesABlockOfThreadsForEachBlockOfEachPart) {
    const QuantisedVector shape{.parts = 3, .elements = 1000, .block = 300, .bits = 4};
    RecordingQueue queue;
    const std::vector<ConstTensorView> x{{nullptr, Dtype::fp32, 3000}};
    quantise(queue, shape, {}, std::span<const ConstTensorView>{x}, {});
    ASSERT_EQ(queue.launches().size(), 1u);
    EXPECT_EQ(queue.launches()[0].blocks_x, 4);
    EXPECT_EQ(queue.launches()[0].blocks_y, 3);
}

}  // namespace
}  // namespace orrery::device
