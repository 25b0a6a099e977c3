// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/ratio_floor.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

// A step of given seconds of products and of norms.
StepSample step(const char* family, double gemm_s, double norm_s, double measured_s) {
    return {.name = "",
            .family = family,
            .generation = "hopper",
            .measured_s = measured_s,
            .control_s = 1,
            .kernels = {},
            .kinds = {{{KernelKind::gemm, "fp16"}, gemm_s},
                      {{KernelKind::layernorm_forward, "fp16"}, norm_s}}};
}

TEST(RatioFloor, FindsTheFactorsThatExplainTheRatios) {
    // Norms take 1.4 times as long as alone.
    const RatioFloor floor = ratio_floor({step("a", 4, 1, 4 + 1.4),
                                          step("a", 1, 4, 1 + 4 * 1.4),
                                          step("b", 2, 3, 2 + 3 * 1.4),
                                          step("b", 6, 1, 6 + 1.4)});
    EXPECT_EQ(floor.factors, 5u);  // noise, two kernels, communication, bubbles
    EXPECT_LT(floor.ratio_error, 0.003);
}

TEST(RatioFloor, WhatNoFactorExplainsIsLeft) {
    // The same kernels in half the time: of every factor the ratio is 1.
    const RatioFloor floor = ratio_floor({step("a", 4, 1, 5), step("a", 4, 1, 2.5)});
    EXPECT_NEAR(floor.ratio_error, 0.5, 1e-9);
}

TEST(RatioFloor, FactorsStayWithinTheFitsRange) {
    // Norms would have to take 5 times as long; at most they take 1.5 times, and products 0.8
    // times: (0.8 * 4 + 1.5) / (0.8 + 1.5 * 4) instead of 9 / 21.
    const RatioFloor floor = ratio_floor({step("a", 4, 1, 9), step("a", 1, 4, 21)});
    EXPECT_NEAR(floor.ratio_error, (3.2 + 1.5) / (0.8 + 6) / (9.0 / 21) - 1, 0.01);
}

TEST(RatioFloor, RestartsOfTheHostBelongToTheStep) {
    StepSample restarted = step("a", 4, 1, 5 + 1e4 * kRestart_us * 1e-6);
    restarted.restarts = 1e4;
    EXPECT_LT(ratio_floor({restarted, step("a", 4, 1, 5)}).ratio_error, 0.003);
}

TEST(RatioFloor, StepsInProportionAreNoPair) {
    const RatioFloor floor = ratio_floor({step("a", 4, 1, 5), step("a", 4, 1, 5.1)});
    EXPECT_EQ(floor.ratio_error, 0);
}

}  // namespace
}  // namespace orrery
