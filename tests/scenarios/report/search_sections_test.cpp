// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/search_report.h"
#include "scenarios/report/study_sections.h"
#include "tests/scenarios/report/search_answer.h"

namespace orrery {
namespace {

TEST(SearchPage, ShowsPlansTheFrontAndWhatWasLeftOut) {
    const SearchedPlans searched = searched_plans();
    const std::string html = to_html(search_sections(
        searched.scenario, searched.result, {{.figure = "NIC bandwidth", .better = -0.01}}));
    for (const char* due :
         {"The best plans", "Time and memory", "interleaved_1f1b", "NIC bandwidth", "12,000"}) {
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
        EXPECT_NE(search_report(searched.scenario, searched.result).find(due), std::string::npos);
    }
}

}  // namespace
}  // namespace orrery
