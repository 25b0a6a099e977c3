// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/studies/measure/run_comparison.h"

namespace orrery {
namespace {

TEST(ComparisonReport, HasARowForEveryPartAndTheStep) {
    RunComparison c{.scenario = "s", .machine = "m", .parts = {}};
    c.parts = {{PartKind::kernel, "gemm", 12, 2e-3, 2.2e-3}, {PartKind::host, "host", 0, 0, 1e-4}};
    c.measured_s = 2e-3;
    c.predicted_s = 2.3e-3;
    c.replayed_s = 2e-3;
    const std::string text = comparison_report(c);
    EXPECT_NE(text.find("s on 1 rank of m"), std::string::npos) << text;
    EXPECT_NE(text.find("gemm                             12        2.000        2.200    +10.0%"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("step                              1        2.000        2.300    +15.0%"),
              std::string::npos);
    // Nothing measured: no error of nothing.
    EXPECT_NE(
        text.find("host                              0        0.000        0.100          \n"),
        std::string::npos);
}

TEST(ComparisonReport, SaysThatACpuWasNeverProfiled) {
    RunComparison c{.scenario = "s", .machine = "m", .uncertainty = 0.69, .parts = {}};
    EXPECT_EQ(comparison_report(c).find("never profiled"), std::string::npos);
    c.unprofiled_cpu = true;
    EXPECT_NE(comparison_report(c).find("69.0%: this CPU was never profiled"), std::string::npos);
}

}  // namespace
}  // namespace orrery
