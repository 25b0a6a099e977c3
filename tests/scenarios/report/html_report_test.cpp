// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/html_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/report/json_report.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

struct Page {
    Answer answer;
    std::string html;
};

Page page_of(const std::string& name) {
    TimelineBars timeline;
    Scenario scenario = small_scenario("small", {"plan.pipeline_model_parallel_size=2"});
    scenario.name = name;
    const auto answer = simulate_scenario(
        scenario, {.trace = [&](const Program& program, const auto& trace) -> Result<void> {
            timeline = timeline_bars(program, trace);
            return {};
        }});
    EXPECT_TRUE(answer);
    return {*answer, html_report(*answer, timeline)};
}

// Between the tags of the element with the data.
nlohmann::json data_of(const std::string& html) {
    const std::string begin = "id=\"data\">";
    const std::size_t at = html.find(begin) + begin.size();
    return nlohmann::json::parse(html.substr(at, html.find("</script>", at) - at));
}

TEST(HtmlReport, HoldsTheObjectOfJsonAndTheTimeline) {
    const Page page = page_of("small");
    nlohmann::json data = data_of(page.html);
    EXPECT_GE(data.at("timeline").at("lanes").size(), 2u);
    EXPECT_GE(data.at("memory_over_time").at("xs").size(), 2u);
    data.erase("timeline");
    data.erase("memory_over_time");
    EXPECT_EQ(data.at("cause_words").at("gemm_inefficiency"), "GEMM inefficiency");
    EXPECT_EQ(data.at("cause_words").size(), kNumCauses);
    EXPECT_TRUE(data.contains("cause_meanings"));
    data.erase("cause_words");
    data.erase("cause_meanings");
    ASSERT_GE(data.at("heat").at("rows").size(), 1u);  // pipeline messages over NVLink
    double most = 0;
    for (const auto& row : data["heat"]["rows"]) {
        for (const double use : row.at("values")) {
            most = std::max(most, use);
        }
    }
    EXPECT_GT(most, 0);
    EXPECT_LE(most, 1);
    data.erase("heat");
    EXPECT_EQ(data, nlohmann::json::parse(json_report(page.answer)));
}

TEST(HtmlReport, NeedsNoNetwork) {
    Page page = page_of("small");
    // The first line of the charts' library says where it comes from.
    const std::string origin = "/*! https://github.com/leeoniya/uPlot";
    const std::size_t at = page.html.find(origin);
    ASSERT_NE(at, std::string::npos);
    page.html.erase(at, origin.size());
    for (const char* word : {"http:", "https:", "src=", "<link", "@import", "url("}) {
        EXPECT_EQ(page.html.find(word), std::string::npos) << word;
    }
    for (const char* mark : {"@DATA@", "@CSS@", "@SCRIPT@", "@TITLE@"}) {
        EXPECT_EQ(page.html.find(mark), std::string::npos) << mark;
    }
}

TEST(HtmlReport, ANameCannotEndTheScriptOrTheTitle) {
    const std::string evil = "</script><script>alert(1)</script>&<!--@SCRIPT@@DATA@";
    const Page page = page_of(evil);
    EXPECT_EQ(data_of(page.html).at("scenario"), evil);
    EXPECT_EQ(page.html.find("alert(1)</script>"), std::string::npos);
    EXPECT_NE(page.html.find("<title>&lt;/script>"), std::string::npos);
}

}  // namespace
}  // namespace orrery
