// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/render/report.h"

namespace orrery {
namespace {

TEST(ReportJson, HasFiguresAndTheValuesOfEveryTable) {
    const Report report{.title = "t",
                        .cards = {{"1.5 s", "step"}},
                        .sections = {{.title = "s",
                                      .table = {.columns = {{"name"}, {"time", Unit::seconds}},
                                                .rows = {{"a", 1.5}, {"b", Cell{}}}}}}};
    const auto json = nlohmann::json::parse(to_json(report));
    EXPECT_EQ(json["title"], "t");
    EXPECT_EQ(json["figures"]["step"], "1.5 s");
    EXPECT_EQ(json["sections"][0]["rows"][0]["time"], 1.5);
    EXPECT_TRUE(json["sections"][0]["rows"][1]["time"].is_null());
}

}  // namespace
}  // namespace orrery
