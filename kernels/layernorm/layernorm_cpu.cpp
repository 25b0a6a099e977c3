// SPDX-License-Identifier: Apache-2.0
// Backward, with x^ = (x - mean) r, r = 1 / sqrt(var + epsilon) and g = dy gamma:
//   dx = r (g - mean(g) - x^ mean(g x^)); dgamma = sum of dy x^, dbeta = sum of dy over the rows.
#include "kernels/layernorm/layernorm_cpu.h"

#include <cmath>
#include <vector>

#include "kernels/vector_math.h"

namespace orrery::cpu {
namespace {

struct RowStatistics {
    float mean;
    float inverse_deviation;
};

RowStatistics statistics_of(std::span<const float> x, float epsilon) {
    const auto hidden = static_cast<float>(x.size());
    const float mean = sum(x) / hidden;
    std::vector<float> centred(x.begin(), x.end());
    for (float& value : centred) {
        value -= mean;
    }
    const float variance = dot(centred, centred) / hidden;
    return {mean, 1.0f / std::sqrt(variance + epsilon)};
}

void normalise(std::span<float> x, RowStatistics row) {
    for (float& value : x) {
        value = (value - row.mean) * row.inverse_deviation;
    }
}

}  // namespace

void layernorm_forward(const NormShape& shape, const NormForward& operands) {
    const auto hidden = static_cast<std::size_t>(shape.hidden);
    std::vector<float> weight(2 * hidden);
    load_row(operands.weight, 0, weight);
    std::vector<float> row(hidden);
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        const std::int64_t first = token * shape.hidden;
        load_norm_input(operands, first, row);
        const RowStatistics statistics = statistics_of(row, shape.epsilon);
        if (!operands.statistics.empty()) {
            store(operands.statistics, 2 * token, statistics.mean);
            store(operands.statistics, 2 * token + 1, statistics.inverse_deviation);
        }
        normalise(row, statistics);
        for (std::size_t i = 0; i < hidden; ++i) {
            row[i] = row[i] * weight[i] + weight[hidden + i];
        }
        store_row(operands.y, first, row);
    }
}

void layernorm_backward(const NormShape& shape, const NormBackward& operands) {
    const auto hidden = static_cast<std::size_t>(shape.hidden);
    std::vector<float> gamma(hidden);
    load_row(operands.weight, 0, gamma);
    std::vector<float> dweight(2 * hidden, 0.0f);
    std::vector<float> x(hidden);
    std::vector<float> g(hidden);
    std::vector<float> residual(hidden, 0.0f);
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
        const std::int64_t first = token * shape.hidden;
        load_row(operands.x, first, x);
        load_row(operands.dy, first, g);
        RowStatistics statistics{};
        if (operands.statistics.empty()) {
            statistics = statistics_of(x, shape.epsilon);
        } else {
            statistics = {load(operands.statistics, 2 * token),
                          load(operands.statistics, 2 * token + 1)};
        }
        normalise(x, statistics);
        for (std::size_t i = 0; i < hidden; ++i) {
            dweight[i] += g[i] * x[i];
            dweight[hidden + i] += g[i];
            g[i] *= gamma[i];
        }
        const float mean_g = sum(g) / static_cast<float>(hidden);
        const float mean_gx = dot(g, x) / static_cast<float>(hidden);
        if (!operands.dresidual.empty()) {
            load_row(operands.dresidual, first, residual);
        }
        for (std::size_t i = 0; i < hidden; ++i) {
            g[i] = statistics.inverse_deviation * (g[i] - mean_g - x[i] * mean_gx) + residual[i];
        }
        store_row(operands.dx, first, g);
    }
    add_norm_gradient(operands, dweight);
}

}  // namespace orrery::cpu
