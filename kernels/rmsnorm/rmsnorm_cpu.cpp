// SPDX-License-Identifier: Apache-2.0
// Backward, with x^ = x r, r = 1 / sqrt(mean(x^2) + epsilon) and g = dy gamma:
//   dx = r (g - x^ mean(g x^)); dgamma = sum of dy x^ over the rows.
#include "kernels/rmsnorm/rmsnorm_cpu.h"

#include <cmath>
#include <vector>

#include "kernels/vector_math.h"

namespace orrery::cpu {
namespace {

float inverse_rms(std::span<const float> x, float epsilon) {
    return 1.0f / std::sqrt(dot(x, x) / static_cast<float>(x.size()) + epsilon);
}

}  // namespace

void rmsnorm_forward(const NormShape& shape, const NormForward& operands) {
    const auto hidden = static_cast<std::size_t>(shape.hidden);
    std::vector<float> gamma(hidden);
    load_row(operands.weight, 0, gamma);
    std::vector<float> row(hidden);
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        const std::int64_t first = token * shape.hidden;
        load_norm_input(operands, first, row);
        const float inverse = inverse_rms(row, shape.epsilon);
        if (!operands.statistics.empty()) {
            store(operands.statistics, token, inverse);
        }
        for (std::size_t i = 0; i < hidden; ++i) {
            row[i] = row[i] * inverse * gamma[i];
        }
        store_row(operands.y, first, row);
    }
}

void rmsnorm_backward(const NormShape& shape, const NormBackward& operands) {
    const auto hidden = static_cast<std::size_t>(shape.hidden);
    std::vector<float> gamma(hidden);
    load_row(operands.weight, 0, gamma);
    std::vector<float> dgamma(hidden, 0.0f);
    std::vector<float> x(hidden);
    std::vector<float> g(hidden);
    std::vector<float> residual(hidden, 0.0f);
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        const std::int64_t first = token * shape.hidden;
        load_row(operands.x, first, x);
        load_row(operands.dy, first, g);
        const float inverse = operands.statistics.empty() ? inverse_rms(x, shape.epsilon)
                                                          : load(operands.statistics, token);
        for (std::size_t i = 0; i < hidden; ++i) {
            x[i] *= inverse;
            dgamma[i] += g[i] * x[i];
            g[i] *= gamma[i];
        }
        const float mean_gx = dot(g, x) / static_cast<float>(hidden);
        if (!operands.dresidual.empty()) {
            load_row(operands.dresidual, first, residual);
        }
        for (std::size_t i = 0; i < hidden; ++i) {
            g[i] = inverse * (g[i] - x[i] * mean_gx) + residual[i];
        }
        store_row(operands.dx, first, g);
    }
    add_norm_gradient(operands, dgamma);
}

}  // namespace orrery::cpu
