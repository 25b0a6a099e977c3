// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/study_sections.h"
#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

const ReplayAnswer kAnswer{.ranks = 8,
                           .ops = 1200,
                           .step = Time::seconds(0.5),
                           .compute = Time::seconds(0.375),
                           .collectives = Time::seconds(0.125),
                           .compute_mean = Time::seconds(0.25)};

TEST(ReplayReport, SharesAreOfTheStep) {
    expect_golden("replay", to_text(replay_sections("traces", kAnswer)));
    EXPECT_NE(to_text(replay_sections("nothing", {})).find("0.0 %"), std::string::npos);
}

TEST(ReplayReport, JsonHasSeconds) {
    const auto json = nlohmann::json::parse(replay_json("traces", kAnswer));
    EXPECT_EQ(json["step_s"], 0.5);
    EXPECT_EQ(json["critical_path_s"]["collectives"], 0.125);
}

}  // namespace
}  // namespace orrery
