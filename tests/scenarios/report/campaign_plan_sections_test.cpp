// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/render/report.h"
#include "scenarios/report/study_sections.h"
#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

PlanAnswer sample_plan(const std::string& name) {
    PlanAnswer plan;
    plan.name = name;
    plan.policies = {"spares"};
    plan.not_covered = {{"spares", "more nodes down than spares"}};
    plan.ettr = {.mean = 0.9123, .low = 0.91, .high = 0.9146};
    plan.gpu_hours[0] = 1234567;
    plan.gpu_hours[12] = 765433;
    plan.faults = {{"a", 1}, {"b", 2}};
    plan.ettr_by_day = {0.1, 0.85, 1};
    plan.first.marks.assign(20, {WallTime::hours(30), "12345 node_ready step 1", true});
    return plan;
}

TEST(CampaignPlanSections, OnePlanInFull) {
    CampaignAnswer answer;
    answer.scenario = "weeks";
    answer.length = WallTime::days(3);
    answer.seeds = 2;
    answer.tokens = 1e12;
    answer.plans = {sample_plan("p")};
    expect_golden("campaign", to_text(campaign_sections(answer)));
}

TEST(CampaignPlanSections, SeveralPlansAreComparedWithTheFirst) {
    CampaignAnswer answer;
    answer.seeds = 2;
    answer.plans = {sample_plan("first"),
                    sample_plan("second plan with a name that is far too long for it")};
    answer.plans[1].ettr_over_first = {.mean = 0.0123, .low = 0.0120, .high = 0.0126};
    expect_golden("campaign_plans", to_text(campaign_sections(answer)));
}

}  // namespace
}  // namespace orrery
