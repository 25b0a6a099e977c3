// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/report_words.h"

#include <gtest/gtest.h>

#include <limits>

#include "scenarios/report/render/report.h"

namespace orrery {
namespace {

TEST(ReportWords, CountsAddTheEndingOfThePlural) {
    EXPECT_EQ(counted(1, "micro-batch"), "1 micro-batch");
    EXPECT_EQ(counted(4, "micro-batch"), "4 micro-batches");
    EXPECT_EQ(counted(1'024, "GPU"), "1,024 GPUs");
}

TEST(ReportWords, AValueThatRoundsToZeroHasNoSign) {
    EXPECT_EQ(signed_text(3.25, 2), "+3.25");
    EXPECT_EQ(signed_text(-0.06, 1), "-0.1");
    EXPECT_EQ(signed_text(-0.04, 1), "0.0");
    EXPECT_EQ(signed_text(0, 2), "0.00");
    EXPECT_EQ(signed_text(-0.4, 0), "0");
    EXPECT_EQ(signed_text(-std::numeric_limits<double>::infinity(), 1), "-inf");
    EXPECT_EQ(cell_text(-0.0004, Unit::change), "0.0 %");
}

TEST(ReportWords, CausesAreNamedAsPeopleSayThem) {
    EXPECT_EQ(words_for(Cause::gemm_inefficiency), "GEMM inefficiency");
    EXPECT_EQ(words_for(Cause::exposed_context), "exposed context-parallel");
    EXPECT_EQ(words_for(Cause::pipeline_bubble), "pipeline bubble");
    EXPECT_EQ(spaced("reduce_scatter on dp"), "reduce scatter on dp");
}

TEST(ReportWords, AssumedKeysLoseTheirSection) {
    Answer answer;
    EXPECT_EQ(assumed_words(answer), "");
    answer.assumed = {{"plan.precision", "bf16"}, {"plan.schedule", "1f1b"}};
    EXPECT_EQ(assumed_words(answer), "precision bf16, schedule 1f1b");
}

}  // namespace
}  // namespace orrery
