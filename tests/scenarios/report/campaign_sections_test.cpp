// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

TEST(CampaignPage, ShowsEveryPlanOverTimeAndFromRunToRun) {
    CampaignAnswer answer{.scenario = "weeks", .gpus = 64, .length = WallTime::days(2), .seeds = 2};
    PlanAnswer plan{.name = "spares"};
    plan.ettr_values = {0.9, 0.8};
    plan.ettr_by_day = {0.7, 0.95};
    plan.gpu_hours[0] = 30;
    plan.gpu_hours[3] = 10;
    plan.faults = {{"gpu", 2.5}};
    plan.first.timeline = {{WallTime{}, WallTime::days(1), NodeUse::productive}};
    answer.plans = {plan, {.name = "nothing"}};
    const std::string html = to_html(campaign_sections(answer));
    // Sorted by how good they are; the second plan has none.
    EXPECT_NE(html.find("\"values\":[0.8,0.9]"), std::string::npos);
    EXPECT_NE(html.find("\"values\":[null,null]"), std::string::npos);
    EXPECT_NE(html.find("75.00 %"), std::string::npos);
    EXPECT_NE(html.find("86400000000"), std::string::npos);
    EXPECT_NE(html.find("nothing"), std::string::npos);
}

}  // namespace
}  // namespace orrery
