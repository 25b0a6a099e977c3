// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/stages_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

TEST(StagesReport, SaysHowEachStageEnded) {
    const std::vector<StageOutcome> outcomes{
        {.name = "checks", .end = {.status = 0, .seconds = 12.5}, .without = "wgmma"},
        {.name = "train:gpt2", .end = {.status = 7, .seconds = 90}, .failed = 2}};
    expect_golden("stages", to_text(stages_sections(outcomes)));
    const auto json = nlohmann::json::parse(stages_json(outcomes));
    EXPECT_EQ(json["stages"][0]["without"], "wgmma");
    EXPECT_EQ(json["stages"][1]["right"], false);
}

}  // namespace
}  // namespace orrery
