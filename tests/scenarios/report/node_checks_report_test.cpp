// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/checks_report.h"
#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

TEST(NodeChecksReport, IsAMatrixOfPairs) {
    NodeChecks checks;
    checks.num_ranks = 2;
    checks.compute_s = {1e-3, 2e-3};
    checks.memory_rate = {1e10, 1e10};
    checks.pair_rate = {0, 1.5e9, 1.25e9, 0};
    checks.neighbours_s = {4e-3, 4e-3};
    checks.all_to_all_s = 6e-3;
    expect_golden("node_checks", to_text(node_checks_sections(checks, {{1, "it is slow"}})));
    EXPECT_NE(node_checks_json(checks, {{1, "it is slow"}}).find("\"rank\": 1"), std::string::npos);
}

}  // namespace
}  // namespace orrery
