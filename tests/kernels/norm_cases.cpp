// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/norm_cases.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

NormShape draw_shape(Draw& draw) {
    return {.tokens = draw.between(1, 6), .hidden = draw.between(2, 21), .epsilon = 1e-3f};
}

Doubles all_rows(const NormKind& kind, const NormShape& s, const Doubles& x, const Doubles& w) {
    Doubles y;
    for (std::int64_t token = 0; token < s.tokens; ++token) {
        const Doubles row = kind.definition(
            numeric::part(x, token * s.hidden, s.hidden), w, static_cast<double>(s.epsilon));
        y.insert(y.end(), row.begin(), row.end());
    }
    return y;
}

}  // namespace

Doubles layernorm_definition(const Doubles& x, const Doubles& weight, double epsilon) {
    const auto hidden = static_cast<double>(x.size());
    double mean = 0;
    for (const double value : x) {
        mean += value / hidden;
    }
    double variance = 0;
    for (const double value : x) {
        variance += (value - mean) * (value - mean) / hidden;
    }
    Doubles y;
    for (std::size_t i = 0; i < x.size(); ++i) {
        y.push_back((x[i] - mean) / std::sqrt(variance + epsilon) * weight[i] +
                    weight[x.size() + i]);
    }
    return y;
}

Doubles rmsnorm_definition(const Doubles& x, const Doubles& weight, double epsilon) {
    double squares = 0;
    for (const double value : x) {
        squares += value * value / static_cast<double>(x.size());
    }
    Doubles y;
    for (std::size_t i = 0; i < x.size(); ++i) {
        y.push_back(x[i] / std::sqrt(squares + epsilon) * weight[i]);
    }
    return y;
}

// y is the definition's.
void check_norm_forward(const NormKind& kind, std::uint64_t seed, Dtype dtype) {
    Draw draw{seed};
    const NormShape s = draw_shape(draw);
    const Tensor x = draw.tensor(s.tokens * s.hidden, dtype, -1, 2);
    const Tensor weight = draw.tensor(kind.weight_rows * s.hidden, dtype);
    Tensor y{x.size(), dtype};
    kind.forward(s, {.x = x.view(), .weight = weight.view(), .y = y.view()});
    EXPECT_LT(numeric::relative_error(y, all_rows(kind, s, x.doubles(), weight.doubles())),
              numeric::tolerance(dtype));
}

// dx and dweight are the derivatives of dy . y, added to what came along the residual and to what
// dweight held.
void check_norm_gradients(const NormKind& kind, std::uint64_t seed, Dtype dtype) {
    Draw draw{seed};
    const NormShape s = draw_shape(draw);
    const Tensor x = draw.tensor(s.tokens * s.hidden, dtype, -1, 2);
    const Tensor weight = draw.tensor(kind.weight_rows * s.hidden, dtype);
    const Tensor dy = draw.tensor(x.size(), dtype);
    const Tensor dresidual = draw.tensor(x.size(), dtype);
    Tensor dx{x.size(), dtype};
    Tensor dweight = draw.tensor(weight.size(), Dtype::fp32);
    Doubles expected_dweight = dweight.doubles();
    kind.backward(s,
                  {.dy = dy.view(),
                   .x = x.view(),
                   .weight = weight.view(),
                   .dresidual = dresidual.view(),
                   .dx = dx.view(),
                   .dweight = dweight.view()});
    Doubles expected_dx = numeric::numeric_gradient(
        [&](const Doubles& at) {
            return numeric::inner_product(dy.doubles(), all_rows(kind, s, at, weight.doubles()));
        },
        x.doubles());
    for (std::size_t i = 0; i < expected_dx.size(); ++i) {
        expected_dx[i] += dresidual.at(static_cast<std::int64_t>(i));
    }
    const Doubles gradient = numeric::numeric_gradient(
        [&](const Doubles& at) {
            return numeric::inner_product(dy.doubles(), all_rows(kind, s, x.doubles(), at));
        },
        weight.doubles());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        expected_dweight[i] += gradient[i];
    }
    EXPECT_LT(numeric::relative_error(dx, expected_dx), numeric::tolerance(dtype));
    EXPECT_LT(numeric::relative_error(dweight, expected_dweight), numeric::tolerance(Dtype::fp32));
}

// The fused addition is residual + x as stored, and y the norm of that, in place as well.
void check_norm_residual(const NormKind& kind, std::uint64_t seed, Dtype dtype) {
    Draw draw{seed};
    const NormShape s = draw_shape(draw);
    const Tensor x = draw.tensor(s.tokens * s.hidden, dtype);
    const Tensor residual = draw.tensor(x.size(), dtype);
    const Tensor weight = draw.tensor(kind.weight_rows * s.hidden, dtype);
    Tensor sum{x.size(), dtype};
    Tensor y{x.size(), dtype};
    kind.forward(s,
                 {.x = x.view(),
                  .residual = residual.view(),
                  .weight = weight.view(),
                  .sum = sum.view(),
                  .y = y.view()});
    for (std::int64_t i = 0; i < x.size(); ++i) {
        Tensor expected{1, dtype};
        store(expected.view(), 0, load(x.view(), i) + load(residual.view(), i));
        ASSERT_EQ(sum.at(i), expected.at(0));
    }
    Tensor alone{x.size(), dtype};
    kind.forward(s, {.x = sum.view(), .weight = weight.view(), .y = alone.view()});
    EXPECT_EQ(y, alone);
    Tensor in_place = residual;
    kind.forward(s,
                 {.x = x.view(),
                  .residual = in_place.view(),
                  .weight = weight.view(),
                  .sum = in_place.view(),
                  .y = y.view()});
    EXPECT_EQ(in_place, sum);
    EXPECT_EQ(y, alone);
}

// Backward from the forward pass's statistics or from x again: the same bits.
void check_norm_statistics(const NormKind& kind, std::uint64_t seed, Dtype dtype) {
    Draw draw{seed};
    const NormShape s = draw_shape(draw);
    const Tensor x = draw.tensor(s.tokens * s.hidden, dtype, -1, 2);
    const Tensor weight = draw.tensor(kind.weight_rows * s.hidden, dtype);
    const Tensor dy = draw.tensor(x.size(), dtype);
    Tensor y{x.size(), dtype};
    Tensor statistics{kind.statistics_size * s.tokens, Dtype::fp32};
    kind.forward(
        s,
        {.x = x.view(), .weight = weight.view(), .y = y.view(), .statistics = statistics.view()});
    std::vector<Tensor> dx(2, Tensor{x.size(), dtype});
    std::vector<Tensor> dweight(2, Tensor{weight.size(), dtype});
    for (const std::size_t given : {0u, 1u}) {
        kind.backward(
            s,
            {.dy = dy.view(),
             .x = x.view(),
             .weight = weight.view(),
             .statistics = given == 1 ? ConstTensorView(statistics.view()) : ConstTensorView{},
             .dx = dx[given].view(),
             .dweight = dweight[given].view()});
    }
    EXPECT_EQ(dx[0], dx[1]);
    EXPECT_EQ(dweight[0], dweight[1]);
    EXPECT_NE(statistics, Tensor(statistics.size(), Dtype::fp32));
}

void for_drawn(void (*law)(const NormKind&, std::uint64_t, Dtype), const NormKind& kind) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(std::to_string(seed) + " " + std::string{name(dtype)});
            law(kind, seed, dtype);
        }
    }
}

}  // namespace orrery::cpu
