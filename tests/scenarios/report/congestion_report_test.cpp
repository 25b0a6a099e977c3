// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/study_sections.h"
#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

TEST(CongestionReport, HasALineAPattern) {
    CongestionStudy study;
    study.factors.algorithm = "dcqcn";
    study.rows = {{.pattern = "ring",
                   .messages = 16,
                   .fair_small = Time::seconds(100e-6),
                   .fair_large = Time::seconds(800e-6),
                   .packets_small = Time::seconds(120e-6),
                   .packets_large = Time::seconds(920e-6),
                   .factor = {.efficiency = 0.875, .queueing_delay = Time::seconds(5e-6)}}};
    expect_golden("congestion", to_text(congestion_sections(study)));
    const auto json = nlohmann::json::parse(congestion_json(study));
    EXPECT_EQ(json["algorithm"], "dcqcn");
    EXPECT_EQ(json["rows"][0]["efficiency"], 0.875);
}

}  // namespace
}  // namespace orrery
