// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/serving_report.h"

namespace orrery {
namespace {

ServedCampaign two_runs() {
    ServedCampaign campaign;
    campaign.runs.resize(2);
    campaign.runs[0].answer.availability = 0.8;
    campaign.runs[1].seed = 1;
    campaign.runs[1].answer.availability = 0.9;
    campaign.runs[1].answer.faults = {{.moved_requests = 4, .lost_tokens = 50}};
    return campaign;
}

TEST(ServedCampaignReport, HasMeansAndTheirErrors) {
    Scenario scenario;
    scenario.name = "s";
    const auto json = nlohmann::json::parse(served_campaign_json(scenario, two_runs()));
    EXPECT_DOUBLE_EQ(json["availability"]["mean"], 0.85);
    EXPECT_NEAR(json["availability"]["standard_error"], 0.05, 1e-12);
    EXPECT_DOUBLE_EQ(json["availability"]["without_faults"], 1);
    EXPECT_DOUBLE_EQ(json["moved_requests"]["most"], 4);
    EXPECT_EQ(json["runs"].size(), 2U);
    EXPECT_EQ(json["runs"][1]["lost_tokens"], 50);
}

TEST(ServedCampaignReport, IsATable) {
    Scenario scenario;
    scenario.name = "s";
    scenario.model.name = "m";
    scenario.serving.engine.name = "e";
    const std::string text = to_text(served_campaign_sections(scenario, two_runs()));
    EXPECT_NE(text.find("m by e: 2 runs"), std::string::npos) << text;
    EXPECT_NE(text.find("85.0"), std::string::npos) << text;
    EXPECT_NE(text.find("without faults"), std::string::npos) << text;
}

}  // namespace
}  // namespace orrery
