// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/validation_report.h"
#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

CalibratedValidation one_family() {
    return {.given = 2,
            .draws = 5,
            .families = {{.family = "mine",
                          .steps = 7,
                          .groups = 1,
                          .before = 0.25,
                          .after = 0.05,
                          .coverage = 0.9,
                          .half_width = 0.12}},
            .before = 0.25,
            .after = 0.05,
            .coverage = 0.9,
            .half_width = 0.12,
            .drawn = {"a", "b"}};
}

TEST(CalibrationReport, ShowsErrorsWithAndWithout) {
    expect_golden("calibration", to_text(calibration_sections(one_family())));
    EXPECT_NE(to_text(calibration_sections({.given = 9})).find("No family has more than 9 steps"),
              std::string::npos);
}

TEST(CalibrationReport, JsonAddsToTheValidation) {
    const auto json = nlohmann::json::parse(calibration_json(Validation{}, one_family()));
    EXPECT_TRUE(json.contains("overall"));
    EXPECT_EQ(json["calibrated"]["families"]["mine"]["median_calibrated"], 0.05);
    EXPECT_EQ(json["calibrated"]["drawn"].size(), 2U);
}

}  // namespace
}  // namespace orrery
