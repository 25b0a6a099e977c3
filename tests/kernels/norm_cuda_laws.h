// SPDX-License-Identifier: Apache-2.0
// What the device code of every norm has to do, in the emulation. A norm is a type with the number
// of its weight vectors, its definition, and its functions on the CPU and on a queue of the device.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/norm_cases.h"
#include "tests/kernels/numeric.h"

namespace orrery::device {

template <class Norm>
void emulated_forward(const cpu::NormShape& shape, const cpu::NormForward& operands) {
    emulation::EmulatedQueue queue{emulation::ThreadOrder::descending};
    Norm::forward(queue, shape, operands, {});
}
template <class Norm>
void emulated_backward(const cpu::NormShape& shape, const cpu::NormBackward& operands) {
    emulation::EmulatedQueue queue{emulation::ThreadOrder::descending};
    Norm::backward(queue, shape, operands);
}

template <class Norm, class Law>
void for_drawn_norms(const Law& law) {
    // As many statistics of a token as weight vectors: mean and deviation, or the deviation.
    const cpu::NormKind kind{emulated_forward<Norm>,
                             emulated_backward<Norm>,
                             Norm::kWeights,
                             Norm::kWeights,
                             Norm::definition};
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(std::to_string(seed) + " " + std::string{name(dtype)});
            law(kind, seed, dtype);
        }
    }
}

template <class Norm>
class NormCuda : public testing::Test {};
TYPED_TEST_SUITE_P(NormCuda);

TYPED_TEST_P(NormCuda, ForwardIsItsDefinition) {
    for_drawn_norms<TypeParam>(cpu::check_norm_forward);
}

TYPED_TEST_P(NormCuda, BackwardIsTheDerivativeAndAdds) {
    for_drawn_norms<TypeParam>(cpu::check_norm_gradients);
}

TYPED_TEST_P(NormCuda, FusedAdditionIsTheAdditionThenTheNorm) {
    for_drawn_norms<TypeParam>(cpu::check_norm_residual);
}

TYPED_TEST_P(NormCuda, StatisticsGivenOrComputedAgainAreTheSame) {
    for_drawn_norms<TypeParam>(cpu::check_norm_statistics);
}

// Rows of one warp, of several, with 16 and with 32 elements a thread; and every order of threads.
TYPED_TEST_P(NormCuda, LongRowsAreTheCpusAndNoOrderOfThreadsShows) {
    for (const std::int64_t hidden : {8, 776, 1000, 8200, 16384}) {
        SCOPED_TRACE(hidden);
        numeric::Draw draw{9};
        const cpu::NormShape s{.tokens = 3, .hidden = hidden};
        const numeric::Tensor x = draw.tensor(3 * hidden, Dtype::bf16);
        const numeric::Tensor dy = draw.tensor(3 * hidden, Dtype::bf16);
        const numeric::Tensor weight = draw.tensor(TypeParam::kWeights * hidden, Dtype::bf16);
        std::vector<numeric::Tensor> y(3, numeric::Tensor{x.size(), Dtype::bf16});
        std::vector<numeric::Tensor> dx(3, numeric::Tensor{x.size(), Dtype::bf16});
        std::vector<numeric::Tensor> dweight(3, numeric::Tensor{weight.size(), Dtype::fp32});
        const auto run = [&](std::size_t i, auto&& forward_of, auto&& backward_of) {
            forward_of(s, {.x = x.view(), .weight = weight.view(), .y = y[i].view()});
            backward_of(s,
                        {.dy = dy.view(),
                         .x = x.view(),
                         .weight = weight.view(),
                         .dx = dx[i].view(),
                         .dweight = dweight[i].view()});
        };
        run(0, TypeParam::cpu_forward, TypeParam::cpu_backward);
        run(1, emulated_forward<TypeParam>, emulated_backward<TypeParam>);
        emulation::EmulatedQueue queue{emulation::ThreadOrder::shuffled};
        run(
            2,
            [&](auto& shape, const cpu::NormForward& a) {
                TypeParam::forward(queue, shape, a, {});
            },
            [&](auto& shape, const cpu::NormBackward& a) { TypeParam::backward(queue, shape, a); });
        EXPECT_LT(numeric::relative_error(y[1], y[0].doubles()), numeric::tolerance(Dtype::bf16));
        EXPECT_LT(numeric::relative_error(dx[1], dx[0].doubles()), numeric::tolerance(Dtype::bf16));
        EXPECT_LT(numeric::relative_error(dweight[1], dweight[0].doubles()), 1e-5);
        EXPECT_TRUE(y[1] == y[2] && dx[1] == dx[2] && dweight[1] == dweight[2]);
    }
}

TYPED_TEST_P(NormCuda, FusedAdditionTakesBiases) {
    numeric::Draw draw{3};
    const cpu::NormShape s{.tokens = 2, .hidden = 24};
    const numeric::Tensor x = draw.tensor(48, Dtype::fp32);
    const numeric::Tensor residual = draw.tensor(48, Dtype::fp32);
    const numeric::Tensor bias = draw.tensor(24, Dtype::bf16);
    const numeric::Tensor weight = draw.tensor(TypeParam::kWeights * 24, Dtype::fp32);
    numeric::Tensor sum{48, Dtype::fp32};
    numeric::Tensor y{48, Dtype::fp32};
    emulation::EmulatedQueue queue;
    TypeParam::forward(queue,
                       s,
                       {.x = x.view(),
                        .residual = residual.view(),
                        .weight = weight.view(),
                        .sum = sum.view(),
                        .y = y.view()},
                       {.first = bias.view(), .second = bias.view()});
    for (std::int64_t i = 0; i < 48; ++i) {
        EXPECT_NEAR(sum.at(i), x.at(i) + residual.at(i) + 2 * bias.at(i % 24), 1e-6);
    }
}

REGISTER_TYPED_TEST_SUITE_P(NormCuda,
                            ForwardIsItsDefinition,
                            BackwardIsTheDerivativeAndAdds,
                            FusedAdditionIsTheAdditionThenTheNorm,
                            StatisticsGivenOrComputedAgainAreTheSame,
                            LongRowsAreTheCpusAndNoOrderOfThreadsShows,
                            FusedAdditionTakesBiases);

}  // namespace orrery::device
