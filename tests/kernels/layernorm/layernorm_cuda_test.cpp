// SPDX-License-Identifier: Apache-2.0
#include "kernels/layernorm/layernorm_cuda.h"

#include "kernels/layernorm/layernorm_cpu.h"
#include "kernels/layernorm/layernorm_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/numeric.h"
#include "tests/kernels/norm_cases.h"

namespace orrery::device {
namespace {

using emulation::EmulatedQueue;
using emulation::ThreadOrder;
using numeric::Draw;
using numeric::Tensor;

void forward(const cpu::NormShape& shape, const cpu::NormForward& operands) {
    EmulatedQueue queue{ThreadOrder::descending};
    layernorm_forward(queue, shape, operands);
}
void backward(const cpu::NormShape& shape, const cpu::NormBackward& operands) {
    EmulatedQueue queue{ThreadOrder::descending};
    layernorm_backward(queue, shape, operands);
}

template <class Law>
void for_drawn(const Law& law) {
    const cpu::NormKind kind{forward, backward, 2, 2, cpu::layernorm_definition};
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(std::to_string(seed) + " " + std::string{name(dtype)});
            law(kind, seed, dtype);
        }
    }
}

TEST(LayernormCuda, ForwardIsItsDefinition) {
    for_drawn(cpu::check_norm_forward);
}

TEST(LayernormCuda, BackwardIsTheDerivativeAndAdds) {
    for_drawn(cpu::check_norm_gradients);
}

TEST(LayernormCuda, FusedAdditionIsTheAdditionThenTheNorm) {
    for_drawn(cpu::check_norm_residual);
}

TEST(LayernormCuda, StatisticsGivenOrComputedAgainAreTheSame) {
    for_drawn(cpu::check_norm_statistics);
}

// Rows of one warp, of several, with 16 and with 32 elements a thread; and every order of threads.
TEST(LayernormCuda, LongRowsAreTheCpusAndNoOrderOfThreadsShows) {
    for (const std::int64_t hidden : {8, 776, 1000, 8200, 16384}) {
        SCOPED_TRACE(hidden);
        Draw draw{9};
        const cpu::NormShape s{.tokens = 3, .hidden = hidden};
        const Tensor x = draw.tensor(3 * hidden, Dtype::bf16);
        const Tensor dy = draw.tensor(3 * hidden, Dtype::bf16);
        const Tensor weight = draw.tensor(2 * hidden, Dtype::bf16);
        std::vector<Tensor> y(3, Tensor{x.size(), Dtype::bf16});
        std::vector<Tensor> dx(3, Tensor{x.size(), Dtype::bf16});
        std::vector<Tensor> dweight(3, Tensor{weight.size(), Dtype::fp32});
        const auto run = [&](std::size_t i, auto&& forward_of, auto&& backward_of) {
            forward_of(s, {.x = x.view(), .weight = weight.view(), .y = y[i].view()});
            backward_of(s,
                        {.dy = dy.view(),
                         .x = x.view(),
                         .weight = weight.view(),
                         .dx = dx[i].view(),
                         .dweight = dweight[i].view()});
        };
        run(0, cpu::layernorm_forward, cpu::layernorm_backward);
        run(1, forward, backward);
        EmulatedQueue queue{ThreadOrder::shuffled};
        run(
            2,
            [&](auto& shape, const cpu::NormForward& a) { layernorm_forward(queue, shape, a); },
            [&](auto& shape, const cpu::NormBackward& a) { layernorm_backward(queue, shape, a); });
        EXPECT_LT(numeric::relative_error(y[1], y[0].doubles()), numeric::tolerance(Dtype::bf16));
        EXPECT_LT(numeric::relative_error(dx[1], dx[0].doubles()), numeric::tolerance(Dtype::bf16));
        EXPECT_LT(numeric::relative_error(dweight[1], dweight[0].doubles()), 1e-5);
        EXPECT_TRUE(y[1] == y[2] && dx[1] == dx[2] && dweight[1] == dweight[2]);
    }
}

TEST(LayernormCuda, FusedAdditionTakesBiases) {
    Draw draw{3};
    const cpu::NormShape s{.tokens = 2, .hidden = 24};
    const Tensor x = draw.tensor(48, Dtype::fp32);
    const Tensor residual = draw.tensor(48, Dtype::fp32);
    const Tensor bias = draw.tensor(24, Dtype::bf16);
    const Tensor weight = draw.tensor(2 * 24, Dtype::fp32);
    Tensor sum{48, Dtype::fp32};
    Tensor y{48, Dtype::fp32};
    EmulatedQueue queue;
    layernorm_forward(queue,
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

}  // namespace
}  // namespace orrery::device
