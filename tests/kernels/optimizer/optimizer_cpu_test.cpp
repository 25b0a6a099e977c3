// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/optimizer_cpu.h"

#include <cmath>

#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace {

using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

// Everything an optimizer keeps of one tensor.
struct State {
    Tensor gradient, m, v, master, parameter;
    State(std::int64_t size, Dtype dtype)
        : gradient(size, Dtype::fp32),
          m(size, Dtype::fp32),
          v(size, Dtype::fp32),
          master(dtype == Dtype::fp32 ? 0 : size, Dtype::fp32),
          parameter(size, dtype) {}
    OptimizerTensors views() {
        return {.gradient = gradient.view(),
                .m = m.view(),
                .v = v.view(),
                .master = master.view(),
                .parameter = parameter.view()};
    }
};

State draw_state(Draw& draw, std::int64_t size, Dtype dtype) {
    State s{size, dtype};
    const Tensor weights = draw.tensor(size, Dtype::fp32);
    s.gradient = draw.tensor(size, Dtype::fp32);
    s.m = draw.tensor(size, Dtype::fp32);
    s.v = draw.tensor(size, Dtype::fp32, 0, 1);
    for (std::int64_t i = 0; i < size; ++i) {
        store(s.parameter.view(), i, load(weights.view(), i));
    }
    if (dtype != Dtype::fp32) {
        s.master = weights;
    }
    return s;
}

OptimizerArguments sample_arguments(Draw& draw) {
    return {.learning_rate = static_cast<float>(draw.real(0.001, 0.1)),
            .beta1 = 0.9f,
            .beta2 = 0.99f,
            .epsilon = 1e-6f,
            .weight_decay = static_cast<float>(draw.real(0, 0.2)),
            .step = draw.between(1, 200),
            .gradient_factor = 0.5f};
}

// One element in float64: {m, v, direction}.
std::array<double, 3> slow_adam(
    const OptimizerArguments& a, double g, double m, double v, double w) {
    const auto beta1 = static_cast<double>(a.beta1);
    const auto beta2 = static_cast<double>(a.beta2);
    const auto step = static_cast<double>(a.step);
    g *= static_cast<double>(a.gradient_factor);
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    const double direction =
        m / (1 - std::pow(beta1, step)) /
            (std::sqrt(v / (1 - std::pow(beta2, step))) + static_cast<double>(a.epsilon)) +
        static_cast<double>(a.weight_decay) * w;
    return {m, v, direction};
}

// Step 1 from m = v = 0: m^ = g and v^ = g^2, so the first step is lr sign(g), then decay.
TEST(AdamwCpu, FirstStepsAreThoseByHand) {
    State s{2, Dtype::fp32};
    store(s.parameter.view(), 0, 1.0f);
    store(s.parameter.view(), 1, -2.0f);
    OptimizerArguments a{.learning_rate = 0.1f,
                         .beta1 = 0.9f,
                         .beta2 = 0.99f,
                         .epsilon = 0.0f,
                         .weight_decay = 0.5f,
                         .step = 1};
    store(s.gradient.view(), 0, 3.0f);
    store(s.gradient.view(), 1, -0.5f);
    adamw(a, s.views());
    EXPECT_NEAR(s.parameter.at(0), 1.0 - 0.1 * (1 + 0.5 * 1), 1e-6);
    EXPECT_NEAR(s.parameter.at(1), -2.0 - 0.1 * (-1 + 0.5 * -2), 1e-6);
    EXPECT_NEAR(s.m.at(0), 0.3, 1e-6);
    EXPECT_NEAR(s.v.at(0), 0.09, 1e-6);
    // Step 2 with gradient 1: m = 0.27 + 0.1 = 0.37, m^ = 0.37 / 0.19; v = 0.0891 + 0.01 = 0.0991,
    // v^ = 0.0991 / 0.0199; m^ / sqrt(v^) = 1.947368 / 2.231566 = 0.872647.
    a.step = 2;
    store(s.gradient.view(), 0, 1.0f);
    adamw(a, s.views());
    EXPECT_NEAR(s.parameter.at(0), 0.85 - 0.1 * (0.872647 + 0.5 * 0.85), 1e-6);
}

TEST(AdamwCpu, EqualsFloat64) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            State s = draw_state(draw, draw.between(1, 5000), dtype);
            const OptimizerArguments a = sample_arguments(draw);
            const Tensor& master = dtype == Dtype::fp32 ? s.parameter : s.master;
            Doubles m, v, w;
            for (std::int64_t i = 0; i < s.m.size(); ++i) {
                const auto [new_m, new_v, direction] =
                    slow_adam(a, s.gradient.at(i), s.m.at(i), s.v.at(i), master.at(i));
                m.push_back(new_m);
                v.push_back(new_v);
                w.push_back(master.at(i) - static_cast<double>(a.learning_rate) * direction);
            }
            adamw(a, s.views());
            EXPECT_LT(numeric::relative_error(s.m, m), 1e-6);
            EXPECT_LT(numeric::relative_error(s.v, v), 1e-6);
            EXPECT_LT(numeric::relative_error(master, w), 1e-6);
            for (std::int64_t i = 0; i < s.m.size() && dtype == Dtype::bf16; ++i) {
                ASSERT_EQ(bf16_at(s.parameter.view(), i), bf16_of_float(load(master.view(), i)));
            }
        }
    }
}

TEST(LambCpu, StepsByTheTrustRatioOfTheWholeTensor) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(seed);
        Draw draw{seed};
        State s = draw_state(draw, 900, Dtype::bf16);
        const OptimizerArguments a = sample_arguments(draw);
        Doubles expected = s.master.doubles();
        Doubles direction;
        for (std::int64_t i = 0; i < 900; ++i) {
            direction.push_back(
                slow_adam(a, s.gradient.at(i), s.m.at(i), s.v.at(i), s.master.at(i))[2]);
        }
        const double ratio = std::sqrt(numeric::inner_product(expected, expected) /
                                       numeric::inner_product(direction, direction));
        for (std::size_t i = 0; i < 900; ++i) {
            expected[i] -= static_cast<double>(a.learning_rate) * ratio * direction[i];
        }
        Tensor update{900, Dtype::fp32};
        const LambNorms norms = lamb_update(a, s.views(), update.view());
        lamb_apply(a, norms, update.view(), s.views());
        EXPECT_LT(numeric::relative_error(s.master, expected), 1e-6);
    }
}

TEST(LambCpu, WeightsOfZeroStepWithoutARatio) {
    State s{1, Dtype::fp32};
    store(s.gradient.view(), 0, 1.0f);
    Tensor update{1, Dtype::fp32};
    const OptimizerArguments a{.learning_rate = 0.5f, .epsilon = 0.0f, .step = 1};
    lamb_apply(a, lamb_update(a, s.views(), update.view()), update.view(), s.views());
    EXPECT_NEAR(s.parameter.at(0), -0.5, 1e-6);
}

TEST(StochasticRounding, IsRightOnAverageAndExactWhereItCanBe) {
    EXPECT_EQ(bf16_stochastic(1.5f, 0xFFFFFFFFu), bf16_of_float(1.5f));
    EXPECT_EQ(bf16_stochastic(INFINITY, 0xFFFFFFFFu), bf16_of_float(INFINITY));
    EXPECT_TRUE(std::isnan(float_of_bf16(bf16_stochastic(NAN, 0xFFFFFFFFu))));
    RandomWords words{{.seed = 5}, 0};
    const float x = -1.0f - 0.3f * 0x1p-7f;  // bf16 has 7 bits after the first
    int up = 0;
    constexpr int kCount = 20000;
    for (int i = 0; i < kCount; ++i) {
        const float rounded = float_of_bf16(bf16_stochastic(x, words()));
        ASSERT_TRUE(rounded == -1.0f || rounded == -1.0f - 0x1p-7f);
        up += rounded == -1.0f ? 0 : 1;
    }
    EXPECT_NEAR(up, 0.3 * kCount, 5 * std::sqrt(0.21 * kCount));
}

TEST(StochasticRounding, DoesNotDependOnSharding) {
    Draw draw{8};
    State whole = draw_state(draw, 5000, Dtype::bf16);
    State parts = whole;
    State nearest = whole;
    OptimizerArguments a = sample_arguments(draw);
    adamw(a, nearest.views());
    a.stochastic_rounding = true;
    a.rounding = {.seed = 3, .purpose = RandomPurpose::stochastic_rounding, .stream = 9};
    adamw(a, whole.views());
    for (const auto& [first, count] : {std::pair{0, 1777}, std::pair{1777, 3223}}) {
        a.place = {.first_element = first};
        const OptimizerTensors all = parts.views();
        adamw(a,
              {.gradient = slice(all.gradient, first, count),
               .m = slice(all.m, first, count),
               .v = slice(all.v, first, count),
               .master = slice(all.master, first, count),
               .parameter = slice(all.parameter, first, count)});
    }
    EXPECT_EQ(parts.parameter, whole.parameter);
    EXPECT_EQ(parts.master, nearest.master);
    EXPECT_NE(whole.parameter, nearest.parameter);
}

// The step of a parameter without a master copy: what a step in fp32 from the same bf16 weights
// comes to, rounded.
TEST(AdamwCpu, StepsBf16WeightsThatAreTheirOwnMasters) {
    for (const bool stochastic : {false, true}) {
        Draw draw{17};
        State copied = draw_state(draw, 3000, Dtype::bf16);
        for (std::int64_t i = 0; i < 3000; ++i) {
            store(copied.master.view(), i, load(copied.parameter.view(), i));
        }
        State own = copied;
        OptimizerArguments a = sample_arguments(draw);
        a.stochastic_rounding = stochastic;
        adamw(a, copied.views());
        OptimizerTensors tensors = own.views();
        tensors.master = {};
        adamw(a, tensors);
        EXPECT_EQ(own.parameter, copied.parameter);
        EXPECT_EQ(own.m, copied.m);
        EXPECT_EQ(own.v, copied.v);
    }
}

// Steps far below the spacing of bf16 at 1: to nearest nothing moves, stochastically the mean does.
TEST(StochasticRounding, MovesTheMeanByStepsThatRoundingToNearestLoses) {
    constexpr std::int64_t kWeights = 20000;
    constexpr float kRate = 0x1p-12f;
    const auto mean_after = [&](bool stochastic) {
        State s{kWeights, Dtype::bf16};
        for (std::int64_t i = 0; i < kWeights; ++i) {
            store(s.parameter.view(), i, 1.0f);
            store(s.gradient.view(), i, -1.0f);
        }
        OptimizerTensors tensors = s.views();
        tensors.master = {};
        OptimizerArguments a{.learning_rate = kRate, .epsilon = 0.0f};
        a.stochastic_rounding = stochastic;
        a.rounding.purpose = RandomPurpose::stochastic_rounding;
        constexpr int kSteps = 20;
        for (int step = 1; step <= kSteps; ++step) {
            a.step = step;
            a.rounding.round = static_cast<std::uint32_t>(step);
            adamw(a, tensors);
        }
        double sum = 0;
        for (std::int64_t i = 0; i < kWeights; ++i) {
            sum += s.parameter.at(i) - 1.0;
        }
        return sum / kWeights / (kSteps * static_cast<double>(kRate));
    };
    EXPECT_EQ(mean_after(false), 0.0);
    // A step is up by 2^-7 with a chance of 2^-5: the mean's relative error is
    // sqrt(31 / (steps x weights)) = 0.9 %.
    EXPECT_NEAR(mean_after(true), 1.0, 5 * 0.009);
}

TEST(StochasticRounding, OfColumnsIsThatOfTheWhole) {
    constexpr std::int64_t kRows = 40;
    constexpr std::int64_t kColumns = 24;
    Draw draw{18};
    State whole = draw_state(draw, kRows * kColumns, Dtype::bf16);
    const State before = whole;
    OptimizerArguments a = sample_arguments(draw);
    a.stochastic_rounding = true;
    a.rounding = {.seed = 3, .purpose = RandomPurpose::stochastic_rounding, .stream = 9};
    adamw(a, whole.views());
    // Columns 4 ... 8, 12 and 13, and 20 of rows 10 ... 39.
    ParameterPlace place{.width = 8, .row_length = kColumns, .first_row = 10};
    const int columns[] = {4, 5, 6, 7, 8, 12, 13, 20};
    for (const int range : {0, 1, 2}) {
        place.first[range] = range == 0 ? 4 : range == 1 ? 12 : 20;
        place.begin[range + 1] = range == 0 ? 5 : range == 1 ? 7 : 8;
    }
    State part{30 * 8, Dtype::bf16};
    const auto global = [&](std::int64_t i) { return (10 + i / 8) * kColumns + columns[i % 8]; };
    for (std::int64_t i = 0; i < 30 * 8; ++i) {
        EXPECT_EQ(place.of(i), global(i));
        store(part.gradient.view(), i, load(before.gradient.view(), global(i)));
        store(part.m.view(), i, load(before.m.view(), global(i)));
        store(part.v.view(), i, load(before.v.view(), global(i)));
        store(part.master.view(), i, load(before.master.view(), global(i)));
    }
    a.place = place;
    adamw(a, part.views());
    for (std::int64_t i = 0; i < 30 * 8; ++i) {
        EXPECT_EQ(part.parameter.at(i), whole.parameter.at(global(i))) << i;
    }
}

TEST(GradientsCpu, AccumulateScaleAndNorm) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        Draw draw{9};
        Tensor gradient = draw.tensor(9001, dtype);
        Tensor sum = draw.tensor(9001, Dtype::fp32);
        Doubles expected = sum.doubles();
        for (std::size_t i = 0; i < expected.size(); ++i) {
            expected[i] += gradient.at(static_cast<std::int64_t>(i));
        }
        gradient_accumulate(gradient.view(), sum.view());
        EXPECT_LT(numeric::relative_error(sum, expected), 1e-7);
        const Doubles values = gradient.doubles();
        const double norm = squared_norm(gradient.view());
        EXPECT_NEAR(norm / numeric::inner_product(values, values), 1.0, 1e-13);
        gradient_scale(gradient.view(), 0.5f);
        for (std::size_t i = 0; i < values.size(); ++i) {
            ASSERT_EQ(gradient.at(static_cast<std::int64_t>(i)), values[i] / 2);
        }
    }
}

TEST(GradientsCpu, AreClippedToTheNorm) {
    EXPECT_EQ(clip_factor(0.5, 1.0), 1.0f);
    EXPECT_EQ(clip_factor(5.0, 0.0), 1.0f);
    EXPECT_NEAR(clip_factor(5.0, 1.0), 0.2, 1e-6);
}

}  // namespace
}  // namespace orrery::cpu
