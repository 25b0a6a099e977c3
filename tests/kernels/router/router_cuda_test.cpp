// SPDX-License-Identifier: Apache-2.0
#include "kernels/router/router_cuda.h"

#include "kernels/router/router_device.h"
#include "tests/kernels/emulation/emulated_block.h"
#include "tests/kernels/router/slow_router.h"

namespace orrery::device {
namespace {

using emulation::EmulatedQueue;
using numeric::Doubles;
using numeric::Draw;
using numeric::Tensor;

TEST(RouterCuda, ChoosesWeighsAndGoesBackAsTheCpuDoes) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
            SCOPED_TRACE(seed);
            Draw draw{seed};
            const RouterShape s = numeric::draw_router(draw);
            const Tensor logits = draw.tensor(s.tokens * s.experts, dtype, -3, 3);
            const Tensor bias = draw.tensor(s.biased ? s.experts : 0, Dtype::fp32);
            Tensor weights{s.tokens * s.k, Dtype::fp32};
            Tensor experts{s.tokens * s.k, Dtype::int32};
            EmulatedQueue queue;
            router_forward(queue, s, logits.view(), bias.view(), weights.view(), experts.view());
            const auto expected = numeric::slow_router(s, logits.doubles(), bias.doubles());
            const auto chosen = ids(experts.view());
            ASSERT_EQ(std::vector<std::int32_t>(chosen.begin(), chosen.end()), expected.experts);
            EXPECT_LT(numeric::relative_error(weights, expected.weights), 1e-6);

            const Tensor dweights = draw.tensor(s.tokens * s.k, Dtype::fp32);
            Tensor dlogits{logits.size(), dtype};
            Tensor on_cpu{logits.size(), dtype};
            router_backward(
                queue, s, dweights.view(), logits.view(), experts.view(), dlogits.view());
            cpu::router_backward(s, dweights.view(), logits.view(), experts.view(), on_cpu.view());
            EXPECT_LE(numeric::distance(dlogits, on_cpu.doubles()),
                      dtype == Dtype::bf16 ? 4e-3 : 1e-6);
        }
    }
}

TEST(RouterCuda, ChoosesExpertsThatExistWhateverTheLogitsAre) {
    const RouterShape s{.tokens = 2, .experts = 40, .k = 3, .groups = 4, .kept_groups = 2};
    Tensor logits{80, Dtype::fp32};
    for (std::int64_t i = 0; i < 80; ++i) {
        store(logits.view(), i, __builtin_nanf(""));
    }
    Tensor weights{6, Dtype::fp32};
    Tensor experts{6, Dtype::int32};
    EmulatedQueue queue;
    router_forward(queue, s, logits.view(), {}, weights.view(), experts.view());
    for (const std::int32_t expert : ids(experts.view())) {
        EXPECT_TRUE(expert >= 0 && expert < 40);
    }
}

TEST(RouterCuda, SaysWhichShapesItDoesNotTake) {
    EXPECT_EQ(why_no_router({.tokens = 1, .experts = 4096, .k = 32}), "");
    EXPECT_NE(why_no_router({.tokens = 1, .experts = 4097, .k = 32}), "");
    EXPECT_NE(why_no_router({.tokens = 1, .experts = 64, .k = 33}), "");
}

}  // namespace
}  // namespace orrery::device
