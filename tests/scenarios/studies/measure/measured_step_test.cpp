// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/measured_step.h"

#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "scenarios/format/read/reader.h"

namespace orrery {
namespace {

TEST(MeasuredStep, SumsTheRunsOfEveryKindBesideTheirPrediction) {
    const auto scenario = read_scenario(ORRERY_SOURCE_DIR "/scenarios/train-tiny-cpu.yaml");
    ASSERT_TRUE(scenario);
    const Program program = lower(scenario->model, scenario->plan);
    OpTimes times{program};
    for (std::uint32_t k = 0; k < program.kernels.size(); ++k) {
        const KernelKind kind = program.kernels[k].kind;
        if (kind == KernelKind::gemm || kind == KernelKind::adamw) {
            times.add(k, kind == KernelKind::gemm ? 1e-3 : 5e-3);
        }
    }
    const auto kinds = compare_kernels(*scenario, program, times);
    ASSERT_TRUE(kinds);
    ASSERT_EQ(kinds->size(), 2U);
    // 2 micro-batches of 4 layers with 4 products, and the logits, three times each.
    EXPECT_EQ((*kinds)[0].kind, KernelKind::gemm);
    EXPECT_EQ((*kinds)[0].runs, 2 * 3 * (4 * 4 + 1));
    EXPECT_NEAR((*kinds)[0].measured_s, 1e-3 * 102, 1e-12);
    EXPECT_GT((*kinds)[0].predicted_s, 0);
    EXPECT_NEAR((*kinds)[1].measured_s, 5e-3, 1e-12);
    const std::string text = measured_report(*kinds);
    EXPECT_NE(text.find("  gemm                        102      102.000"), std::string::npos)
        << text;
    EXPECT_NE(text.find("  all                         103      107.000"), std::string::npos)
        << text;
}

}  // namespace
}  // namespace orrery
