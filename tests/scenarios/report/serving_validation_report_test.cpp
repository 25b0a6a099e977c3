// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/validation_report.h"

namespace orrery {
namespace {

ServingValidation two_rows() {
    ServingValidation validation;
    validation.rows = {{.case_name = "a",
                        .family = "f",
                        .metric = "tpot_s",
                        .measured = 0.02,
                        .predicted = 0.022,
                        .control = 0.03}};
    validation.skipped = {{.case_name = "b", .family = "g", .reason = "no model x"}};
    validation.families = {{.family = "f",
                            .metric = "tpot_s",
                            .rows = 1,
                            .median = 0.1,
                            .bias = 0.1,
                            .control_median = 0.5}};
    validation.balanced = validation.families;
    validation.balanced.front().family.clear();
    return validation;
}

TEST(ServingValidationReport, TheTextHasRowsFamiliesAndReasons) {
    const std::string text = to_text(serving_validation_sections(two_rows()));
    for (const char* part : {"+10.0 %", "+50.0 %", "mean of the families", "no model x"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
}

TEST(ServingValidationReport, TheJsonHasTheSame) {
    const auto json = nlohmann::json::parse(serving_validation_json(two_rows()));
    EXPECT_EQ(json["rows"][0]["metric"], "tpot_s");
    EXPECT_DOUBLE_EQ(json["rows"][0]["predicted"], 0.022);
    EXPECT_NEAR(json["rows"][0]["control_error"].get<double>(), 0.5, 1e-12);
    EXPECT_EQ(json["skipped"][0]["reason"], "no model x");
    EXPECT_EQ(json["families"]["f"]["tpot_s"]["rows"], 1);
    EXPECT_DOUBLE_EQ(json["overall"]["tpot_s"]["control_median"], 0.5);
}

}  // namespace
}  // namespace orrery
