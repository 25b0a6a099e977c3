// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/render/report.h"

namespace orrery {
namespace {

nlohmann::json data_of(const std::string& html) {
    const std::string begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t at = html.find(begin) + begin.size();
    return nlohmann::json::parse(html.substr(at, html.find("</script>", at) - at));
}

TEST(ReportHtml, HasItsDataItsLibraryAndTheLicence) {
    Report page{.title = "a <b> & c", .lines = {"</script><b>"}, .footer = "end"};
    page.cards = {{"1", "one", true}};
    page.sections = {{.title = "chart",
                      .chart = PageChart{.x = {"x", "s"},
                                         .y = {"y", ""},
                                         .xs = {1, 2},
                                         .series = {{"s", {1.5, std::nullopt}, true}},
                                         .limit = PageLimit{"all", 2}}},
                     {.title = "heat",
                      .heat = {{"row", {0, 0.5}, {}, {"left", "right"}}},
                      .heat_scale = {"low", "high"}},
                     {.title = "table", .table = words_table({{"a", "b"}, {"1", "2"}})},
                     {.title = "lanes",
                      .timeline = PageTimeline{.kinds = {"k"}, .lanes = {{"l", {{0, 5, 10}}}}}}};
    const std::string html = to_html(page);
    EXPECT_NE(html.find("<title>a &lt;b> &amp; c</title>"), std::string::npos);
    EXPECT_NE(html.find("Permission is hereby granted"), std::string::npos);
    EXPECT_NE(html.find("var uPlot="), std::string::npos);
    const auto data = data_of(html);
    EXPECT_EQ(data["lines"][0], "</script><b>");
    EXPECT_TRUE(data["sections"][0]["chart"]["series"][0]["values"][1].is_null());
    EXPECT_EQ(data["sections"][0]["chart"]["limit"]["name"], "all");
    EXPECT_EQ(data["sections"][0]["chart"]["limit"]["value"], 2);
    EXPECT_EQ(data["sections"][1]["heat"]["rows"][0]["values"][1], 0.5);
    EXPECT_EQ(data["sections"][1]["heat"]["rows"][0]["cells"][1], "right");
    EXPECT_EQ(data["sections"][1]["heat"]["scale"][1], "high");
    EXPECT_EQ(data["sections"][2]["table"]["rows"].size(), 1u);
    EXPECT_EQ(data["sections"][3]["timeline"]["lanes"][0]["bars"][0][2], 10);
    EXPECT_TRUE(data["cards"][0]["bad"]);
}

TEST(ReportHtml, ASectionOfATableWithoutRowsIsLeftOut) {
    Report page{.title = "a"};
    page.sections = {{.title = "none", .note = "n", .table = {.columns = {{"case"}}}},
                     {.title = "one", .table = words_table({{"a"}, {"1"}})}};
    const auto data = data_of(to_html(page));
    ASSERT_EQ(data["sections"].size(), 1u);
    EXPECT_EQ(data["sections"][0]["title"], "one");
}

}  // namespace
}  // namespace orrery
