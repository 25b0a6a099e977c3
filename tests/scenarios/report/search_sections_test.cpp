// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/search_report.h"
#include "scenarios/report/study_sections.h"
#include "tests/scenarios/golden_report.h"
#include "tests/scenarios/report/search_answer.h"

namespace orrery {
namespace {

TEST(SearchSections, NameTheWinnerAndWhatBecameOfEveryPlan) {
    const SearchedPlans searched = searched_plans();
    expect_golden(
        "search",
        to_text(search_sections(
            searched.scenario, searched.result, {{.figure = "NIC bandwidth", .better = -0.01}})));
}

TEST(SearchSections, SayWhatAPlanThatWasLeftOutCouldSave) {
    SearchedPlans searched = searched_plans();
    searched.result.bound_gap = 0.034;
    std::string text = to_text(search_sections(searched.scenario, searched.result, {}));
    EXPECT_NE(text.find("The simulations ran out: a plan"), std::string::npos) << text;
    searched.result.interrupted = true;
    searched.result.left_out.interrupted = 7;
    text = to_text(search_sections(searched.scenario, searched.result, {}));
    EXPECT_NE(text.find("interrupted; the best of 50 simulated plans; 7 of all 12,345 that"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("The search was interrupted: a plan"), std::string::npos) << text;
    EXPECT_EQ(text.find("ran out"), std::string::npos) << text;
    EXPECT_NE(search_json(searched.scenario, searched.result).find("\"interrupted\": true"),
              std::string::npos);
}

TEST(SearchPage, ShowsPlansTheFrontAndWhatWasLeftOut) {
    const SearchedPlans searched = searched_plans();
    const std::string html = to_html(search_sections(
        searched.scenario, searched.result, {{.figure = "NIC bandwidth", .better = -0.01}}));
    for (const char* due : {"The best plans",
                            "Time and memory",
                            "plan 1 of the best",
                            "interleaved_1f1b",
                            "NIC bandwidth",
                            "12,000"}) {
        EXPECT_NE(html.find(due), std::string::npos) << due;
    }
    EXPECT_EQ(to_html(search_sections(searched.scenario, searched.result, {})).find("hinges"),
              std::string::npos);
}

// The page says what the console and the JSON say of what can fail.
TEST(SearchPage, ListsTheClassesOfFaultsThatASearchForGoodputCounts) {
    SearchedPlans searched = searched_plans();
    EXPECT_EQ(
        to_html(search_sections(searched.scenario, searched.result, {})).find("What can fail"),
        std::string::npos);
    searched.scenario.search.objective = Objective::goodput;
    FaultProcess process;
    process.name = "bad_luck";
    process.kind = FaultKind::gpu_lost;
    process.interval = {.kind = DistributionKind::exponential, .scale = WallTime::days(30)};
    searched.scenario.faults.processes = {process};
    const std::string html = to_html(search_sections(searched.scenario, searched.result, {}));
    for (const std::string& due :
         {std::string{"What can fail"},
          std::string{"bad_luck"},
          search_fault_classes(searched.scenario, searched.result).front().components}) {
        EXPECT_NE(html.find(due), std::string::npos) << due;
        EXPECT_NE(to_text(search_sections(searched.scenario, searched.result, {})).find(due),
                  std::string::npos);
    }
}

}  // namespace
}  // namespace orrery
