// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/study_pages.h"
#include "tests/scenarios/report/search_answer.h"

namespace orrery {
namespace {

TEST(SearchPage, ShowsPlansTheFrontAndWhatWasLeftOut) {
    const SearchedPlans searched = searched_plans();
    const std::string html = search_page(
        searched.scenario, searched.result, {{.figure = "NIC bandwidth", .better = -0.01}});
    for (const char* due :
         {"The best plans", "Time and memory", "interleaved_1f1b", "NIC bandwidth", "12,000"}) {
        EXPECT_NE(html.find(due), std::string::npos) << due;
    }
    EXPECT_EQ(search_page(searched.scenario, searched.result, {}).find("hinges"),
              std::string::npos);
}

}  // namespace
}  // namespace orrery
