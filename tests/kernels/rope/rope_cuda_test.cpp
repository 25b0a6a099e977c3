// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope/rope_cuda.h"

#include <cmath>

#include "kernels/rope/rope_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using emulation::EmulatedQueue;
using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

Doubles turned(const cpu::RopeShape& s, const Tensor& qkv, double direction) {
    const std::int64_t width = (s.heads + 2 * s.kv_heads) * s.head_dim;
    Doubles x = qkv.doubles();
    for (std::int64_t token = 0; token < s.sequence.length * s.batch; ++token) {
        const auto position = static_cast<double>(s.sequence.of(token / s.batch));
        for (std::int64_t head = 0; head < s.heads + s.kv_heads; ++head) {
            for (std::int64_t i = 0; i < s.head_dim / 2; ++i) {
                const auto left = static_cast<std::size_t>(token * width + head * s.head_dim + i);
                const auto right = left + static_cast<std::size_t>(s.head_dim / 2);
                const double angle = position * std::pow(s.base,
                                                         -2.0 * static_cast<double>(i) /
                                                             static_cast<double>(s.head_dim));
                const double a = x[left];
                const double b = x[right];
                x[left] = a * std::cos(angle) - direction * b * std::sin(angle);
                x[right] = b * std::cos(angle) + direction * a * std::sin(angle);
            }
        }
    }
    return x;
}

TEST(RopeCuda, TurnsQueriesAndKeysByTheirPositionAndGradientsBack) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const std::int64_t length = 2 * draw.between(1, 5);
            const cpu::RopeShape s{
                .sequence = draw.coin() ? contiguous_positions(length, draw.between(0, 100'000))
                                        : balanced_positions(length, 1, 3),
                .batch = draw.between(1, 3),
                .heads = draw.between(1, 10),
                .kv_heads = draw.between(1, 3),
                .head_dim = draw.coin() ? 2 * draw.between(1, 20) : 16 * draw.between(1, 8)};
            const std::int64_t width = (s.heads + 2 * s.kv_heads) * s.head_dim;
            const Tensor x = draw.tensor(length * s.batch * width, dtype);
            Tensor forward = x;
            Tensor backward = x;
            EmulatedQueue queue;
            rope_forward(queue, s, forward.view());
            rope_backward(queue, s, backward.view());
            EXPECT_LT(numeric::relative_error(forward, turned(s, x, 1)), numeric::tolerance(dtype));
            EXPECT_LT(numeric::relative_error(backward, turned(s, x, -1)),
                      numeric::tolerance(dtype));
        }
    }
}

}  // namespace
}  // namespace orrery::device
