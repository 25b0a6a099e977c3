// SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax/softmax_cpu.h"

#include <cmath>

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

struct SoftmaxCase {
    SoftmaxShape shape;
    SoftmaxArguments arguments;
    std::int64_t size() const { return shape.seq_q * shape.batch * shape.heads * shape.seq_kv; }
};

SoftmaxCase draw_softmax_case(Draw& draw) {
    SoftmaxCase c{.shape = {.batch = draw.between(1, 2),
                            .heads = draw.between(1, 3),
                            .seq_q = draw.between(1, 6),
                            .seq_kv = draw.between(1, 20),
                            .causal = draw.coin()},
                  .arguments = {.scale = draw.coin() ? 1.0f : 0.35f}};
    c.arguments.window = c.shape.causal && draw.coin() ? draw.between(1, 8) : 0;
    return c;
}

Doubles slow_softmax(const SoftmaxCase& c, const Doubles& scores) {
    const SoftmaxShape& s = c.shape;
    Doubles result(scores.size(), 0.0);
    for (std::int64_t row = 0; row < s.seq_q * s.batch * s.heads; ++row) {
        const std::int64_t last = s.seq_kv - s.seq_q + row / (s.batch * s.heads);
        double sum = 0;
        for (const bool divide : {false, true}) {
            for (std::int64_t j = 0; j < s.seq_kv; ++j) {
                const auto at = static_cast<std::size_t>(row * s.seq_kv + j);
                const bool seen =
                    !s.causal ||
                    (j <= last && (c.arguments.window == 0 || j > last - c.arguments.window));
                if (!seen) {
                    continue;
                }
                if (divide) {
                    result[at] /= sum;
                } else {
                    result[at] = std::exp(static_cast<double>(c.arguments.scale) * scores[at]);
                    sum += result[at];
                }
            }
        }
    }
    return result;
}

TEST(SoftmaxCpu, ForwardIsTheDefinitionAndMaskedEntriesAreZero) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const SoftmaxCase c = draw_softmax_case(draw);
            const Tensor scores = draw.tensor(c.size(), dtype, -5, 5);
            Tensor p = draw.tensor(c.size(), dtype);
            softmax_forward(c.shape, c.arguments, scores.view(), p.view());
            const Doubles expected = slow_softmax(c, scores.doubles());
            EXPECT_LT(numeric::relative_error(p, expected), numeric::tolerance(dtype));
            for (std::int64_t i = 0; i < c.size(); ++i) {
                EXPECT_EQ(p.at(i) == 0.0, expected[static_cast<std::size_t>(i)] == 0.0);
            }
            Tensor in_place = scores;
            softmax_forward(c.shape, c.arguments, in_place.view(), in_place.view());
            EXPECT_EQ(in_place, p);
        }
    }
}

TEST(SoftmaxCpu, BackwardIsTheDerivative) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        const SoftmaxCase c = draw_softmax_case(draw);
        const Tensor scores = draw.tensor(c.size(), Dtype::fp32, -3, 3);
        Tensor gradient = draw.tensor(c.size(), Dtype::fp32);
        Tensor p{c.size(), Dtype::fp32};
        softmax_forward(c.shape, c.arguments, scores.view(), p.view());
        const Doubles expected = numeric::numeric_gradient(
            [&, dp = gradient.doubles()](const Doubles& at) {
                return numeric::inner_product(dp, slow_softmax(c, at));
            },
            scores.doubles());
        const double size =
            std::sqrt(numeric::inner_product(gradient.doubles(), gradient.doubles()));
        softmax_backward(c.shape, c.arguments, p.view(), gradient.view());
        EXPECT_LT(numeric::distance(gradient, expected), 1e-6 * size);
    }
}

TEST(SoftmaxCpu, LargeScoresDoNotOverflow) {
    std::vector<float> scores{500.0f, 1000.0f, 1000.0f};
    softmax_forward({.heads = 1, .seq_q = 1, .seq_kv = 3, .causal = false},
                    {},
                    view_of(scores),
                    view_of(scores));
    EXPECT_EQ(scores, (std::vector<float>{0.0f, 0.5f, 0.5f}));
}

}  // namespace
}  // namespace orrery::cpu
