// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/studies/diagnose/modelled_checks.h"

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
    const std::string text = checks_text(checks);
    for (const char* part : {"50.0 GB/s", "25.0 GB/s", "node 5 nic 2", "suspected", "64"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
    EXPECT_NE(checks_json(checks).find("\"failed\": 1"), std::string::npos);
    checks.suspects.clear();
    EXPECT_NE(checks_text(checks).find("nothing is suspected"), std::string::npos);
}

}  // namespace
}  // namespace orrery
