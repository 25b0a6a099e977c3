// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/validation_report.h"

#include <gtest/gtest.h>

#include <sstream>

#include "scenarios/format/document/utf8.h"
#include "scenarios/report/render/report_words.h"
#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

TEST(ValidationReport, HasEveryRowAndEveryReason) {
    Validation v;
    v.rows = {{.name = "A", .family = "f", .measured_s = 10, .predicted_s = 11, .control_s = 12}};
    v.skipped = {{"B", "g", "mixture-of-experts models are not expressible yet"}};
    summarise_families(v);
    const std::string report = to_text(validation_sections(v));
    expect_golden("validation", report);
    std::istringstream lines{report};
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
    std::istringstream lines{to_text(validation_sections(v))};
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(num_characters(line), kReportColumns) << line;
        EXPECT_EQ(find_text_fault(line).what, "") << line;
    }
}

TEST(ValidationReport, SaysSoWhereNoCaseCanBeSimulated) {
    Validation v;
    v.skipped = {{"B", "g", "no such gpu"}};
    summarise_families(v);
    const std::string report = to_text(validation_sections(v));
    expect_golden("validation_none", report);
}

TEST(ValidationReport, MarksCasesThatDoNotFit) {
    Validation v;
    v.rows = {{.name = "A", .family = "f", .measured_s = 2, .predicted_s = 1, .control_s = 3}};
    summarise_families(v);
    EXPECT_EQ(to_text(validation_sections(v)).find("does not fit"), std::string::npos);
    v.rows[0].fits = false;
    EXPECT_NE(to_text(validation_sections(v)).find("does not fit"), std::string::npos);
}

}  // namespace
}  // namespace orrery
