// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/weighted_activation_cpu.h"

#include <cmath>

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

double weighted_gelu(double x) {
    return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double weighted_curve(const WeightedActivation& s, double x) {
    if (s.gated) {
        return s.variant ? weighted_gelu(x) : x / (1 + std::exp(-x));
    }
    return s.variant ? std::pow(std::max(x, 0.0), 2) : weighted_gelu(x);
}

// Of one row, by the definition.
double weighted_element(const WeightedActivation& s,
                        const Doubles& x,
                        double weight,
                        std::int64_t at) {
    const std::int64_t row = at / s.ffn;
    const auto first = static_cast<std::size_t>(row * s.ffn * (s.gated ? 2 : 1) + at % s.ffn);
    const double up = s.gated ? x[first + static_cast<std::size_t>(s.ffn)] : 1.0;
    return weight * weighted_curve(s, x[first]) * up;
}

void check_weighted(const WeightedActivation& s, std::uint64_t seed) {
    Draw draw{seed};
    const std::int64_t room = s.rows + 3;  // tensors with more rows than there are
    const std::int64_t columns = s.ffn * (s.gated ? 2 : 1);
    const Tensor x = draw.tensor(room * columns, Dtype::fp32, -2, 2);
    const Tensor weights = draw.tensor(room, Dtype::fp32);
    const Tensor dy = draw.tensor(room * s.ffn, Dtype::fp32);
    Tensor y{room * s.ffn, Dtype::fp32};
    Tensor dx{x.size(), Dtype::fp32};
    Tensor dweights{room, Dtype::fp32};
    weighted_forward(s, x.view(), weights.view(), y.view());
    weighted_backward(s, dy.view(), x.view(), weights.view(), dx.view(), dweights.view());
    const Doubles values = x.doubles();
    const Doubles factors = weights.doubles();
    const Doubles gradients = dy.doubles();
    const auto loss = [&](const Doubles& at, const Doubles& by) {
        double sum = 0;
        for (std::int64_t i = 0; i < s.rows * s.ffn; ++i) {
            sum += gradients[static_cast<std::size_t>(i)] *
                   weighted_element(s, at, by[static_cast<std::size_t>(i / s.ffn)], i);
        }
        return sum;
    };
    for (std::int64_t i = 0; i < y.size(); ++i) {
        const double expected =
            i < s.rows * s.ffn
                ? weighted_element(s, values, factors[static_cast<std::size_t>(i / s.ffn)], i)
                : 0;  // as it was
        EXPECT_NEAR(load(y.view(), i), expected, 1e-5);
    }
    const Doubles dx_slow =
        numeric::numeric_gradient([&](const Doubles& at) { return loss(at, factors); }, values);
    const Doubles dw_slow =
        numeric::numeric_gradient([&](const Doubles& by) { return loss(values, by); }, factors);
    EXPECT_LT(numeric::distance(dx, dx_slow), 1e-5);
    EXPECT_LT(numeric::distance(dweights, dw_slow), 1e-5);
}

TEST(WeightedActivationCpu, IsItsDefinitionAndBackwardTheDerivative) {
    for (const bool gated : {false, true}) {
        for (const bool variant : {false, true}) {
            for (const std::int64_t rows : {1, 7, 33, 64}) {
                SCOPED_TRACE(testing::Message() << gated << variant << " " << rows);
                check_weighted({.rows = rows, .ffn = 5, .gated = gated, .variant = variant},
                               static_cast<std::uint64_t>(rows));
            }
        }
    }
}

TEST(WeightedActivationCpu, NoRowsAreNothing) {
    check_weighted({.rows = 0, .ffn = 5, .gated = true}, 1);
}

}  // namespace
}  // namespace orrery::cpu
