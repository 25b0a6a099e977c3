// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/study_sections.h"

namespace orrery {
namespace {

TEST(NetworkPage, ShowsBandwidthsAndEveryLink) {
    NetworkAnswer answer{.scenario = "net", .pattern = "all_reduce", .ranks = 64};
    answer.rows = {{.size = Bytes{1 << 20}, .time = Time::seconds(1e-3), .algbw = 5, .busbw = 9},
                   {.size = Bytes{1 << 21}, .time = Time::seconds(2e-3), .algbw = 6, .busbw = 11}};
    answer.classes = {{.link_class = "nic", .links = 4, .used = 2, .mean = 0.25, .max = 0.75}};
    answer.heat = {{"nic", {0, 0.75, 0.25, 0}}};
    answer.busiest = {{.link = "node 3 nic 2 -> tor 18", .utilisation = 0.75}};
    answer.notes = {"a link changed"};
    const std::string html = to_html(network_sections(answer));
    EXPECT_NE(html.find("\"values\":[0.0,0.75,0.25,0.0]"), std::string::npos);
    EXPECT_NE(html.find("\"values\":[9.0,11.0]"), std::string::npos);
    EXPECT_NE(html.find("node 3 nic 2 -> tor 18"), std::string::npos);
    EXPECT_NE(html.find("a link changed"), std::string::npos);
}

}  // namespace
}  // namespace orrery
