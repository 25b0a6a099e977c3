// SPDX-License-Identifier: Apache-2.0
#include "kernels/quantise/quantise_cpu.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Draw;
using numeric::Tensor;

struct Codes {
    explicit Codes(std::int64_t size) : bytes(static_cast<std::size_t>(size)) {}
    TensorView view() {
        return {bytes.data(), Dtype::uint8, static_cast<std::int64_t>(bytes.size())};
    }
    std::vector<std::byte> bytes;
};

// Elements come back off by half a scale of their block at most, whatever is in other blocks.
TEST(QuantiseCpu, IsOffByHalfAScaleAtMost) {
    for (const int bits : {4, 8}) {
        for (const std::int64_t size : {1, 7, 64, 1000}) {
            SCOPED_TRACE(testing::Message() << bits << " bits, " << size);
            Draw draw{static_cast<std::uint64_t>(size)};
            const QuantisedVector shape{.parts = 1, .elements = size, .block = 16, .bits = bits};
            Tensor x = draw.tensor(size, Dtype::fp32);
            store(x.view(), 0, 100.0f);  // of the first block alone
            Codes codes{shape.bytes()};
            Tensor y{size, Dtype::fp32};
            quantise(shape, {}, std::array<ConstTensorView, 1>{x.view()}, codes.view());
            dequantise(shape, 1, codes.view(), std::array<TensorView, 1>{y.view()}, false);
            const double most = bits == 4 ? 7 : 127;
            for (std::int64_t b = 0; b < shape.blocks(); ++b) {
                const std::int64_t end = std::min(size, (b + 1) * 16);
                double largest = 0;
                for (std::int64_t i = b * 16; i < end; ++i) {
                    largest = std::max(largest, std::abs(x.at(i)));
                }
                for (std::int64_t i = b * 16; i < end; ++i) {
                    ASSERT_LE(std::abs(x.at(i) - y.at(i)), 0.5 * largest / most * (1 + 1e-5)) << i;
                }
            }
        }
    }
}

// Tensors of other lengths than a multiple of the parts: the last shards end with zeros.
TEST(QuantiseCpu, PartsAreTheShardsOfEachTensor) {
    const QuantisedVector shape{.parts = 4, .elements = 3 + 5, .block = 2, .bits = 8};
    Draw draw{1};
    const Tensor a = draw.tensor(10, Dtype::fp32);
    const Tensor b = draw.tensor(20, Dtype::bf16);
    Codes codes{shape.bytes()};
    quantise(shape,
             {.inside = 2, .below = 1},
             std::array<ConstTensorView, 2>{a.view(), b.view()},
             codes.view());
    // Part 3 (coordinates 1 of the group, 1 above) is the last, part 2 the second.
    for (const auto& [part, place] : {std::pair{0, 0}, {1, 2}, {2, 1}, {3, 3}}) {
        const QuantisedVector one{.parts = 1, .elements = 8, .block = 2, .bits = 8};
        Codes own{one.bytes()};
        std::copy_n(codes.bytes.begin() + place * one.bytes(), one.bytes(), own.bytes.begin());
        Tensor of_a{3, Dtype::fp32};
        Tensor of_b{5, Dtype::fp32};
        const std::array<TensorView, 2> shards{of_a.view(), of_b.view()};
        dequantise(one, 1, own.view(), shards, false);
        for (std::int64_t i = 0; i < 3; ++i) {
            const std::int64_t at = part * 3 + i;
            EXPECT_NEAR(of_a.at(i), at < 10 ? a.at(at) : 0.0, 0.005) << part << " " << i;
        }
        for (std::int64_t i = 0; i < 5; ++i) {
            EXPECT_NEAR(of_b.at(i), b.at(part * 5 + i), 0.005) << part << " " << i;
        }
    }
}

TEST(QuantiseCpu, SumsTermsAtFullWidth) {
    constexpr std::int64_t kTerms = 3;
    const QuantisedVector shape{.parts = 2, .elements = 9, .block = 4, .bits = 8};
    Codes codes{kTerms * shape.bytes()};
    std::vector<double> sum(18);
    for (std::int64_t t = 0; t < kTerms; ++t) {
        Draw draw{static_cast<std::uint64_t>(t)};
        const Tensor x = draw.tensor(18, Dtype::fp32);
        const TensorView own = slice(codes.view(), t * shape.bytes(), shape.bytes());
        quantise(shape, {}, std::array<ConstTensorView, 1>{x.view()}, own);
        for (std::int64_t i = 0; i < 18; ++i) {
            sum[static_cast<std::size_t>(i)] += x.at(i);
        }
    }
    Tensor y{18, Dtype::fp32};
    const std::array<TensorView, 1> out{y.view()};
    dequantise(shape, kTerms, codes.view(), out, false);
    Tensor again{18, Dtype::fp32};
    Codes summed{shape.bytes()};
    requantise(shape, kTerms, codes.view(), summed.view());
    dequantise(shape, 1, summed.view(), std::array<TensorView, 1>{again.view()}, false);
    for (std::int64_t i = 0; i < 18; ++i) {
        EXPECT_NEAR(y.at(i), sum[static_cast<std::size_t>(i)], kTerms * 0.5 / 127);
        EXPECT_NEAR(again.at(i), y.at(i), 0.5 * kTerms / 127);
    }
    const numeric::Doubles once = y.doubles();
    dequantise(shape, kTerms, codes.view(), out, true);
    for (std::int64_t i = 0; i < 18; ++i) {
        EXPECT_NEAR(y.at(i), 2 * once[static_cast<std::size_t>(i)], 1e-6);
    }
}

TEST(QuantiseCpu, ABlockOfWhatIsNoNumberComesBackAsNone) {
    const QuantisedVector shape{.parts = 1, .elements = 8, .block = 4, .bits = 4};
    for (const float bad : {std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
        Draw draw{2};
        Tensor x = draw.tensor(8, Dtype::fp32);
        store(x.view(), 1, bad);
        Codes codes{shape.bytes()};
        Tensor y{8, Dtype::fp32};
        quantise(shape, {}, std::array<ConstTensorView, 1>{x.view()}, codes.view());
        dequantise(shape, 1, codes.view(), std::array<TensorView, 1>{y.view()}, false);
        for (std::int64_t i = 0; i < 8; ++i) {
            EXPECT_EQ(std::isnan(y.at(i)), i < 4);
        }
    }
    Tensor zeros{8, Dtype::fp32};
    Codes codes{shape.bytes()};
    quantise(shape, {}, std::array<ConstTensorView, 1>{zeros.view()}, codes.view());
    EXPECT_EQ(codes.bytes, std::vector<std::byte>(static_cast<std::size_t>(shape.bytes())));
}

}  // namespace
}  // namespace orrery::cpu
