// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/campaign_report.h"

#include <gtest/gtest.h>

#include <sstream>

#include "scenarios/format/document/utf8.h"

namespace orrery {
namespace {

PlanAnswer plan(const std::string& name) {
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

TEST(CampaignReport, OnePlanIsToldInFull) {
    CampaignAnswer answer;
    answer.scenario = "weeks";
    answer.plans = {plan("p")};
    const std::string text = campaign_report(answer);
    for (const char* part : {"ETTR              91.23 ± 0.23 %",
                             "1,234,567",
                             "2,000,000",
                             "1d 06:00:00    node_ready step 1",
                             "and 8 more; --trace FILE has all",
                             " ▄█",
                             "more nodes down than spares"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
    EXPECT_LT(text.find("    b "), text.find("    a "));  // the most frequent first
}

TEST(CampaignReport, SeveralPlansAreCompared) {
    CampaignAnswer answer;
    answer.plans = {plan("first"), plan("second plan with a name that is far too long for it")};
    answer.plans[1].ettr_over_first = {.mean = 0.0123, .low = 0.0120, .high = 0.0126};
    const std::string text = campaign_report(answer);
    EXPECT_NE(text.find("+1.23 ± 0.03 points"), std::string::npos) << text;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(num_characters(line), 100u) << line;
    }
}

}  // namespace
}  // namespace orrery
