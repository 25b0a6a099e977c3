// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope/rope_cpu.h"

#include <cmath>
#include <vector>

namespace orrery::cpu {
namespace {

// The cosines, then the sines, of the angles of one position.
std::vector<float> rotation(const RopeShape& shape, std::int64_t position, double direction) {
    const std::int64_t half = shape.head_dim / 2;
    std::vector<float> table(static_cast<std::size_t>(shape.head_dim));
    for (std::int64_t i = 0; i < half; ++i) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(shape.head_dim);
        const double angle = static_cast<double>(position) * std::pow(shape.base, exponent);
        table[static_cast<std::size_t>(i)] = static_cast<float>(std::cos(angle));
        table[static_cast<std::size_t>(half + i)] = static_cast<float>(direction * std::sin(angle));
    }
    return table;
}

void rotate(const RopeShape& shape, TensorView qkv, double direction) {
    ORRERY_CHECK(shape.head_dim % 2 == 0);
    const std::int64_t width = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
    const auto half = static_cast<std::size_t>(shape.head_dim / 2);
    std::vector<float> heads(
        static_cast<std::size_t>((shape.heads + shape.kv_heads) * shape.head_dim));
    for (std::int64_t s = 0; s < shape.sequence.length; ++s) {
        const std::vector<float> table = rotation(shape, shape.sequence.of(s), direction);
        const float* cosine = table.data();
        const float* sine = table.data() + half;
        for (std::int64_t b = 0; b < shape.batch; ++b) {
            const std::int64_t first = (s * shape.batch + b) * width;
            load_row(qkv, first, heads);
            for (std::size_t head = 0; head < heads.size(); head += 2 * half) {
                float* x = heads.data() + head;
                for (std::size_t i = 0; i < half; ++i) {
                    const float left = x[i];
                    const float right = x[half + i];
                    x[i] = left * cosine[i] - right * sine[i];
                    x[half + i] = right * cosine[i] + left * sine[i];
                }
            }
            store_row(qkv, first, heads);
        }
    }
}

}  // namespace

void rope_forward(const RopeShape& shape, TensorView qkv) {
    rotate(shape, qkv, 1.0);
}

void rope_backward(const RopeShape& shape, TensorView dqkv) {
    rotate(shape, dqkv, -1.0);
}

}  // namespace orrery::cpu
