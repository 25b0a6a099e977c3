// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/validation_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "scenarios/read/utf8.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/json_report.h"

namespace orrery {
namespace {

TEST(ValidationReport, HasEveryRowAndEveryReason) {
    Validation v;
    v.rows = {{.name = "A", .family = "f", .measured_s = 10, .predicted_s = 11, .control_s = 12}};
    v.skipped = {{"B", "g", "mixture-of-experts models are not expressible yet"}};
    summarise_families(v);
    const auto json = nlohmann::json::parse(json_report(v));
    EXPECT_EQ(json["rows"][0]["case"], "A");
    EXPECT_DOUBLE_EQ(json["rows"][0]["measured_s"], 10);
    EXPECT_DOUBLE_EQ(json["rows"][0]["predicted_s"], 11);
    EXPECT_EQ(json["skipped"][0]["reason"], v.skipped[0].reason);
    EXPECT_NEAR(json["families"]["f"]["predicted"]["median"].get<double>(), 0.1, 1e-12);
    EXPECT_NEAR(json["overall"]["control_balanced_error"].get<double>(), 0.2, 1e-12);
    std::istringstream lines{validation_report(v)};
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(num_characters(line), kReportColumns) << line;
    }
}

TEST(ValidationReport, NeverPassesAHundredColumns) {
    Validation v;
    const std::string name = std::string(41, 'n') + "\u00fc\u00fc\u00fc";
    for (int i = 0; i < 3; ++i) {
        v.rows.push_back({.name = name,
                          .family = name,
                          .measured_s = 10,
                          .predicted_s = 12345.678,
                          .control_s = 1.0 + i,
                          .fits = false});
    }
    v.skipped = {{name, name, std::string(200, 'r')}};
    summarise_families(v);
    std::istringstream lines{validation_report(v)};
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(num_characters(line), kReportColumns) << line;
        EXPECT_EQ(find_text_fault(line).what, "") << line;
    }
}

TEST(ValidationReport, SaysSoWhereNoCaseCanBeSimulated) {
    Validation v;
    v.skipped = {{"B", "g", "no such gpu"}};
    summarise_families(v);
    const std::string report = validation_report(v);
    EXPECT_EQ(report.substr(0, 25), "No case can be simulated.");
    EXPECT_NE(report.find("no such gpu"), std::string::npos);
    EXPECT_EQ(report.find("Balanced error"), std::string::npos);
    const auto json = nlohmann::json::parse(json_report(v));
    EXPECT_TRUE(json["overall"]["balanced_error"].is_null());
    EXPECT_EQ(json["overall"]["skipped"], 1);
}

TEST(ValidationReport, MarksCasesThatDoNotFit) {
    Validation v;
    v.rows = {{.name = "A", .family = "f", .measured_s = 2, .predicted_s = 1, .control_s = 3}};
    summarise_families(v);
    EXPECT_EQ(validation_report(v).find("does not fit"), std::string::npos);
    EXPECT_NE(validation_report(v).find("  -50.0%    +50.0%\n"), std::string::npos)
        << validation_report(v);
    v.rows[0].fits = false;
    EXPECT_NE(validation_report(v).find("does not fit\n"), std::string::npos);
}

}  // namespace
}  // namespace orrery
