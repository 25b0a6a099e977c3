// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope/rope_cpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

std::int64_t width(const RopeShape& s) {
    return (s.heads + 2 * s.kv_heads) * s.head_dim;
}

RopeShape draw_shape(Draw& draw, SequencePositions sequence) {
    return {.sequence = sequence,
            .batch = draw.between(1, 3),
            .heads = draw.between(1, 3),
            .kv_heads = draw.between(1, 2),
            .head_dim = 2 * draw.between(1, 6),
            .base = draw.coin() ? 10000.0 : 500000.0};
}

// As a product of complex numbers.
Doubles slow_rope(const RopeShape& s, Doubles x) {
    for (std::int64_t token = 0; token < s.sequence.length * s.batch; ++token) {
        const auto position = static_cast<double>(s.sequence.of(token / s.batch));
        for (std::int64_t head = 0; head < s.heads + s.kv_heads; ++head) {
            for (std::int64_t i = 0; i < s.head_dim / 2; ++i) {
                const auto left =
                    static_cast<std::size_t>(token * width(s) + head * s.head_dim + i);
                const std::size_t right = left + static_cast<std::size_t>(s.head_dim / 2);
                const double angle = position / std::pow(s.base,
                                                         2.0 * static_cast<double>(i) /
                                                             static_cast<double>(s.head_dim));
                const std::complex<double> turned =
                    std::complex<double>{x[left], x[right]} * std::polar(1.0, angle);
                x[left] = turned.real();
                x[right] = turned.imag();
            }
        }
    }
    return x;
}

TEST(RopeCpu, TurnsQueriesAndKeysAndLeavesValues) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const RopeShape s =
                draw_shape(draw, contiguous_positions(draw.between(1, 9), draw.between(0, 50)));
            Tensor x = draw.tensor(s.sequence.length * s.batch * width(s), dtype);
            const Doubles expected = slow_rope(s, x.doubles());
            rope_forward(s, x.view());
            EXPECT_LT(numeric::relative_error(x, expected), numeric::tolerance(dtype));
        }
    }
}

// A rotation is linear and its own transpose's inverse: backward is the derivative of dy . y.
TEST(RopeCpu, BackwardIsTheDerivative) {
    Draw draw{8};
    const RopeShape s = draw_shape(draw, contiguous_positions(4, 3));
    const Tensor x = draw.tensor(s.sequence.length * s.batch * width(s), Dtype::fp32);
    Tensor dy = draw.tensor(x.size(), Dtype::fp32);
    const Doubles expected = numeric::numeric_gradient(
        [&, weights = dy.doubles()](const Doubles& at) {
            return numeric::inner_product(weights, slow_rope(s, at));
        },
        x.doubles());
    rope_backward(s, dy.view());
    EXPECT_LT(numeric::relative_error(dy, expected), 2e-6);
}

TEST(RopeCpu, ShardsOfTheSequenceAreTheWhole) {
    constexpr std::int64_t kRanks = 4;
    Draw draw{9};
    RopeShape s = draw_shape(draw, contiguous_positions(16));
    const Tensor x = draw.tensor(16 * s.batch * width(s), Dtype::fp32);
    const std::int64_t row = s.batch * width(s);
    Tensor whole = x;
    rope_forward(s, whole.view());
    for (std::int64_t rank = 0; rank < kRanks; ++rank) {
        s.sequence = balanced_positions(4, rank, kRanks);
        Tensor part{4 * row, Dtype::fp32};
        for (std::int64_t i = 0; i < part.size(); ++i) {
            store(part.view(), i, load(x.view(), s.sequence.of(i / row) * row + i % row));
        }
        rope_forward(s, part.view());
        for (std::int64_t i = 0; i < part.size(); ++i) {
            ASSERT_EQ(part.at(i), whole.at(s.sequence.of(i / row) * row + i % row));
        }
    }
}

}  // namespace
}  // namespace orrery::cpu
