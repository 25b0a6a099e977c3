// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/activation_cuda.h"

#include <cmath>

#include "kernels/activation/activation_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {
namespace {

using emulation::EmulatedQueue;
using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

double value_at(Curve curve, double x) {
    switch (curve) {
        case Curve::gelu:
            return x / 2 *
                   (1 + std::tanh(std::sqrt(2 / 3.14159265358979324) * (x + 0.044715 * x * x * x)));
        case Curve::silu:
            return x / (1 + std::exp(-x));
        default:
            return x > 0 ? x * x : 0;
    }
}
double slope_at(Curve curve, double x) {
    constexpr double kStep = 1e-5;
    return (value_at(curve, x + kStep) - value_at(curve, x - kStep)) / (2 * kStep);
}

struct Case {
    cpu::ActivationShape shape;
    Curve curve;
    bool gated;
    Tensor x, bias, dy;
    Doubles y, dx;

    Case(Draw& draw, Dtype dtype)
        : shape{draw.between(1, 5), draw.coin() ? draw.between(1, 40) : 8 * draw.between(1, 160)},
          curve(static_cast<Curve>(draw.between(0, 2))),
          gated(curve != Curve::squared_relu && draw.coin()),
          x(draw.tensor(shape.tokens * width(), dtype, -4, 4)),
          bias(draw.coin() ? draw.tensor(width(), Dtype::bf16) : Tensor{0, Dtype::bf16}),
          dy(draw.tensor(shape.tokens * shape.ffn, dtype)) {
        dx.resize(static_cast<std::size_t>(x.size()));
        for (std::int64_t i = 0; i < dy.size(); ++i) {
            const std::int64_t column = i % shape.ffn;
            const std::int64_t at = i / shape.ffn * width() + column;
            const double gate = shifted(at, column);
            const double up = gated ? shifted(at + shape.ffn, shape.ffn + column) : 1;
            y.push_back(value_at(curve, gate) * up);
            dx[static_cast<std::size_t>(at)] = dy.at(i) * slope_at(curve, gate) * up;
            if (gated) {
                dx[static_cast<std::size_t>(at + shape.ffn)] = dy.at(i) * value_at(curve, gate);
            }
        }
    }
    std::int64_t width() const { return shape.ffn * (gated ? 2 : 1); }
    double shifted(std::int64_t i, std::int64_t column) const {
        return x.at(i) + (bias.size() > 0 ? bias.at(column) : 0);
    }
};

TEST(ActivationCuda, IsTheFunctionAndItsDerivative) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const Case c{draw, dtype};
            Tensor y{c.dy.size(), dtype};
            Tensor dx{c.x.size(), dtype};
            EmulatedQueue queue;
            const auto ungated =
                c.curve == Curve::gelu ? cpu::Ungated::gelu : cpu::Ungated::squared_relu;
            const auto gated = c.curve == Curve::gelu ? cpu::Gated::geglu : cpu::Gated::swiglu;
            if (c.gated || c.curve == Curve::silu) {
                if (!c.gated) {
                    continue;  // silu stands only in a gate
                }
                swiglu_forward(queue, c.shape, gated, c.x.view(), c.bias.view(), y.view());
                swiglu_backward(
                    queue, c.shape, gated, c.dy.view(), c.x.view(), c.bias.view(), dx.view());
            } else {
                gelu_forward(queue, c.shape, ungated, c.x.view(), c.bias.view(), y.view());
                gelu_backward(
                    queue, c.shape, ungated, c.dy.view(), c.x.view(), c.bias.view(), dx.view());
            }
            EXPECT_LT(numeric::relative_error(y, c.y), numeric::tolerance(dtype));
            EXPECT_LT(numeric::relative_error(dx, c.dx), numeric::tolerance(dtype));
        }
    }
}

TEST(ActivationCuda, FarFromZeroIsTheLimit) {
    const std::vector<float> x{-1e4f, -100.0f, 100.0f, 1e4f};
    std::vector<float> gates = x;
    gates.insert(gates.end(), x.begin(), x.end());  // of which the product with up takes no part
    for (const bool gated : {false, true}) {
        Tensor y{4, Dtype::fp32};
        EmulatedQueue queue;
        if (gated) {
            swiglu_forward(
                queue, {1, 4}, cpu::Gated::swiglu, const_view_of(gates), {}, y.view(), false);
        } else {
            gelu_forward(queue, {1, 4}, cpu::Ungated::gelu, const_view_of(x), {}, y.view());
        }
        EXPECT_EQ(y.doubles(), (Doubles{0, 0, 100, 1e4}));
    }
}

}  // namespace
}  // namespace orrery::device
