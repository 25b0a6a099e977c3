// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/checks_report.h"

#include <gtest/gtest.h>

#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

TEST(ChecksReport, TellsWorstPlaceAndSuspects) {
    ModelledChecks checks;
    checks.tests.push_back({.test = "loopback",
                            .unit = "GB/s",
                            .median = 50,
                            .worst = 25,
                            .worst_at = "node 5 nic 2",
                            .failed = 1,
                            .count = 64});
    checks.suspects = {"node 5 nic 2: 0.50 of the median"};
    expect_golden("checks", to_text(checks_sections(checks)));
    EXPECT_NE(checks_json(checks).find("\"failed\": 1"), std::string::npos);
}

}  // namespace
}  // namespace orrery
