// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/studies/measure/run_comparison.h"

namespace orrery {
namespace {

TEST(ComparisonJson, HasTheStepAndEveryPart) {
    RunComparison c{.scenario = "s", .machine = "m", .parts = {}};
    c.parts = {{PartKind::kernel, "gemm", 12, 2e-3, 2.2e-3}, {PartKind::host, "host", 0, 0, 1e-4}};
    c.measured_s = 2e-3;
    c.predicted_s = 2.3e-3;
    const auto json = nlohmann::json::parse(comparison_json(c));
    EXPECT_EQ(json["scenario"], "s");
    EXPECT_DOUBLE_EQ(json["measured_s"], 2e-3);
    EXPECT_DOUBLE_EQ(json["predicted_s"], 2.3e-3);
    ASSERT_EQ(json["parts"].size(), 2U);
    EXPECT_NE(json["parts"][0].dump().find("gemm"), std::string::npos);
}

}  // namespace
}  // namespace orrery
