// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/activation_cpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

double gelu(double x) {
    const double root = std::sqrt(2 / std::numbers::pi);
    return x / 2 * (1 + std::tanh(root * (x + 0.044715 * x * x * x)));
}
double silu(double x) {
    return x / (1 + std::exp(-x));
}
double squared_relu(double x) {
    return x > 0 ? x * x : 0;
}

using Scalar = double (*)(double);

// y of all rows in float64; bias has the width of a row of x.
Doubles ungated(Scalar function, const Doubles& x, const Doubles& bias) {
    Doubles y;
    for (std::size_t i = 0; i < x.size(); ++i) {
        y.push_back(function(x[i] + bias[i % bias.size()]));
    }
    return y;
}
Doubles gated(Scalar function, const Doubles& x, const Doubles& bias) {
    const std::size_t width = bias.size();
    const std::size_t ffn = width / 2;
    Doubles y;
    for (std::size_t row = 0; row < x.size(); row += width) {
        for (std::size_t i = 0; i < ffn; ++i) {
            y.push_back(function(x[row + i] + bias[i]) * (x[row + ffn + i] + bias[ffn + i]));
        }
    }
    return y;
}

struct Drawn {
    ActivationShape shape;
    Tensor x, bias, dy, y, dx;
};

Drawn draw_case(std::uint64_t seed, Dtype dtype, std::int64_t halves) {
    Draw draw{seed};
    const ActivationShape s{draw.between(1, 5), draw.between(1, 20)};
    const std::int64_t width = halves * s.ffn;
    return {s,
            draw.tensor(s.tokens * width, dtype, -4, 4),
            draw.coin() ? draw.tensor(width, dtype) : Tensor{width, dtype},
            draw.tensor(s.tokens * s.ffn, dtype),
            Tensor{s.tokens * s.ffn, dtype},
            Tensor{s.tokens * width, dtype}};
}

template <class Definition, class Forward, class Backward>
void check(std::int64_t halves,
           const Definition& definition,
           const Forward& forward,
           const Backward& backward) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(std::to_string(seed) + " " + std::string{name(dtype)});
            Drawn d = draw_case(seed, dtype, halves);
            forward(d);
            const Doubles expected = definition(d.x.doubles(), d.bias.doubles());
            EXPECT_LT(numeric::relative_error(d.y, expected), numeric::tolerance(dtype));
            backward(d);
            const Doubles gradient = numeric::numeric_gradient(
                [&](const Doubles& at) {
                    return numeric::inner_product(d.dy.doubles(), definition(at, d.bias.doubles()));
                },
                d.x.doubles());
            EXPECT_LT(numeric::relative_error(d.dx, gradient), numeric::tolerance(dtype));
        }
    }
}

void check_ungated(Ungated function, Scalar scalar) {
    check(
        1,
        [=](const Doubles& x, const Doubles& bias) { return ungated(scalar, x, bias); },
        [=](Drawn& d) { gelu_forward(d.shape, function, d.x.view(), d.bias.view(), d.y.view()); },
        [=](Drawn& d) {
            gelu_backward(d.shape, function, d.dy.view(), d.x.view(), d.bias.view(), d.dx.view());
        });
}

void check_gated(Gated function, Scalar scalar) {
    check(
        2,
        [=](const Doubles& x, const Doubles& bias) { return gated(scalar, x, bias); },
        [=](Drawn& d) { swiglu_forward(d.shape, function, d.x.view(), d.bias.view(), d.y.view()); },
        [=](Drawn& d) {
            swiglu_backward(d.shape, function, d.dy.view(), d.x.view(), d.bias.view(), d.dx.view());
        });
}

TEST(ActivationCpu, GeluIsItsTanhFormAndDerivative) {
    check_ungated(Ungated::gelu, gelu);
}
TEST(ActivationCpu, SquaredReluIsItsDefinitionAndDerivative) {
    check_ungated(Ungated::squared_relu, squared_relu);
}
TEST(ActivationCpu, SwigluIsItsDefinitionAndDerivative) {
    check_gated(Gated::swiglu, silu);
}
TEST(ActivationCpu, GegluIsItsDefinitionAndDerivative) {
    check_gated(Gated::geglu, gelu);
}

TEST(ActivationCpu, SaturatesWithoutNaN) {
    const std::vector<float> x{-1e4f, -40.0f, 40.0f, 1e4f};
    const std::vector<float> dy(4, 1.0f);
    std::vector<float> y(4);
    std::vector<float> dx(4);
    gelu_forward({1, 4}, Ungated::gelu, const_view_of(x), {}, view_of(y));
    gelu_backward({1, 4}, Ungated::gelu, const_view_of(dy), const_view_of(x), {}, view_of(dx));
    EXPECT_EQ(y, (std::vector<float>{0, 0, 40, 1e4f}));
    EXPECT_EQ(dx, (std::vector<float>{0, 0, 1, 1}));
}

}  // namespace
}  // namespace orrery::cpu
