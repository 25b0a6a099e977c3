// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/checks_report.h"
#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

TEST(HeatMapReport, OfManyNodesTheHottestAreShown) {
    std::vector<double> times(200, 1.0);
    times[2 * 77] = times[2 * 77 + 1] = 1.2;
    const HeatMap map = heat_map("many", times, std::vector<std::uint32_t>(200, 0), {}, 2);
    Report report = heat_map_sections(map);
    report.footer.clear();  // the version
    expect_golden("heat_map", to_text(report));
}

TEST(HeatMapReport, PageAndJsonNameTheSlowToo) {
    const HeatMap map = heat_map("few", {1, 1, 1.5}, {0, 0, 0}, {}, 1);
    EXPECT_NE(heat_map_json(map).find("node 2: 1.50 times its peers"), std::string::npos);
    const std::string html = to_html(heat_map_sections(map));
    EXPECT_NE(html.find("1.50 times its peers"), std::string::npos);
    EXPECT_NE(html.find("node 2, device 0: 1.50 times the median"), std::string::npos);
    EXPECT_NE(html.find("a tenth above it, or more"), std::string::npos);
}

}  // namespace
}  // namespace orrery
