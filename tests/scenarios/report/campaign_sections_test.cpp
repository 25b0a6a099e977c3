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

TEST(CampaignPage, ComparesTheGpuHoursOfThePlans) {
    CampaignAnswer answer{.scenario = "weeks", .length = WallTime::days(1)};
    answer.plans = {{.name = "spares"}, {.name = "nothing"}};
    const auto hours = [&](std::size_t plan, NodeUse use) -> double& {
        return answer.plans[plan].gpu_hours[static_cast<std::size_t>(use)];
    };
    hours(0, NodeUse::productive) = 1500;
    hours(1, NodeUse::productive) = 1200;
    hours(1, NodeUse::waiting) = 300;
    const auto table_of = [&] {
        for (const ReportSection& section : campaign_sections(answer).sections) {
            if (section.title == "GPU-hours of a run by plan") {
                return text_rows(section.table);
            }
        }
        return std::vector<TextRow>{};
    };
    EXPECT_EQ(table_of(),
              (std::vector<TextRow>{{"use", "spares", "nothing"},
                                    {"productive", "1,500", "1,200"},
                                    {"waiting", "0", "300"}}));
    answer.plans.pop_back();
    EXPECT_TRUE(table_of().empty());
}

// T = 3600 e^(260/3600) (e^((tau + 20)/3600) - 1), computed apart from the program.
TEST(CampaignPage, ComparesTheIntervalsOfCheckpoints) {
    CampaignAnswer answer{.scenario = "weeks", .length = WallTime::days(1)};
    PlanAnswer plan{.name = "spares", .interval = WallTime::seconds(600)};
    plan.checkpoint.stall = WallTime::seconds(20);
    plan.checkpoint.copy = WallTime::seconds(60);
    plan.costs.restart_full = WallTime::seconds(180);
    plan.costs.load_remote = WallTime::seconds(20);
    answer.plans = {plan, plan};
    answer.plans[1].name = "other policies";
    const auto table_of = [&] {
        for (const ReportSection& section : campaign_sections(answer).sections) {
            if (section.title == "Checkpoint intervals") {
                return text_rows(section.table);
            }
        }
        return std::vector<TextRow>{};
    };
    EXPECT_TRUE(table_of().empty());  // no failures
    answer.mtbf_h = 1;
    EXPECT_EQ(table_of(),
              (std::vector<TextRow>{
                  {"plan", "interval of", "interval", "checkpoints", "failures", "overhead"},
                  {"spares", "the plan", "10.0 min", "2.75 %", "14.75 %", "17.50 %"},
                  {"", "Young (1974)", "6.32 min", "4.40 %", "12.03 %", "16.44 %"},
                  {"", "Daly (2006)", "6.10 min", "4.56 %", "11.87 %", "16.43 %"},
                  {"", "exact optimum", "6.10 min", "4.56 %", "11.87 %", "16.43 %"}}));
    answer.plans[1].interval = WallTime::seconds(300);
    EXPECT_EQ(table_of().size(), 9u);
}

TEST(CampaignPage, CsvHasARowForEachPlan) {
    CampaignAnswer answer{.scenario = "weeks", .gpus = 64, .length = WallTime::days(1), .seeds = 3};
    answer.plans = {{.name = "spares", .spares = 2}, {.name = "nothing"}};
    answer.plans[0].ettr.mean = 0.75;
    answer.plans[0].lost_h.mean = 0.5;
    answer.plans[0].mttr_s = 60;
    answer.fault_classes = {{.name = "gpu"}};
    EXPECT_EQ(to_csv(campaign_sections(answer)),
              "scenario,plan,gpus,seeds,ettr,goodput,effective_mfu,interruptions,restarts,lost [s],"
              "spares,mttr [s]\n"
              "weeks,spares,64,3,0.75,0,0,0,0,1800,2,60\n"
              "weeks,nothing,64,3,0,0,0,0,0,0,0,\n");
}

}  // namespace
}  // namespace orrery
