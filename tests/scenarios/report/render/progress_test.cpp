// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/progress.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(ProgressLine, FillsItsBarAndStaysNarrow) {
    EXPECT_NE(progress_line("x", 0.5, 10).find("50 %  10 s left"), std::string::npos);
    EXPECT_EQ(progress_line("x", 2, 1).find('-'), std::string::npos);
    EXPECT_LE(progress_line(std::string(500, 'x'), 0.011, 1e6).size(), 100U);
}

TEST(ProgressLine, SaysNothingOfTheRestBeforeItKnows) {
    EXPECT_EQ(progress_line("x", 0, 5), "x [" + std::string(40, '-') + "]   0 %");
    EXPECT_EQ(progress_line("x", -1, 5), progress_line("x", 0, 5));
}

TEST(ProgressLine, OfALogHasNoBar) {
    EXPECT_EQ(logged_progress("profiling", 0.25, 30), "profiling: 25 %, 90 s left");
    EXPECT_EQ(logged_progress("profiling", 0, 30), "profiling: 0 %");
}

TEST(ProgressBar, IsSilentWhereThereIsNoTerminalAndInTheFirstSecond) {
    testing::internal::CaptureStderr();
    {
        ProgressBar none{"x", false};
        none.show(0.5);
        ProgressBar early{"x", true};
        early.show(0.5);
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace orrery
