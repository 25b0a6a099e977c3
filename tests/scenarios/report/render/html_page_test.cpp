// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/html_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/report/study_sections.h"
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
    return {*answer, to_html(step_sections(*answer, &timeline))};
}

// Between the tags of the element with the data.
nlohmann::json data_of(const std::string& html) {
    const std::string begin = "id=\"data\">";
    const std::size_t at = html.find(begin) + begin.size();
    return nlohmann::json::parse(html.substr(at, html.find("</script>", at) - at));
}

const nlohmann::json& section_of(const nlohmann::json& data, const std::string& title) {
    for (const nlohmann::json& section : data.at("sections")) {
        if (section.at("title").get<std::string>().starts_with(title)) {
            return section;
        }
    }
    ADD_FAILURE() << "no section " << title;
    return data;
}

TEST(HtmlPage, AStepHasItsWaterfallRanksMemoryAndLinks) {
    const Page page = page_of("small");
    const nlohmann::json data = data_of(page.html);
    EXPECT_GE(section_of(data, "Ranks over time").at("timeline").at("lanes").size(), 2u);
    EXPECT_GE(section_of(data, "Memory over time").at("chart").at("xs").size(), 2u);
    EXPECT_TRUE(section_of(data, "Memory of the fullest GPU").at("stacked"));
    EXPECT_EQ(section_of(data, "Where the peak goes").at("bars").size(),
              page.answer.lost_mfu.size() + 2);
    EXPECT_FALSE(section_of(data, "Where the peak goes").at("bars")[1].at("help").empty());
    double most = 0;
    for (const auto& row : section_of(data, "Use of the links").at("heat").at("rows")) {
        for (const double use : row.at("values")) {
            most = std::max(most, use);
        }
    }
    EXPECT_GT(most, 0);  // pipeline messages over NVLink
    EXPECT_LE(most, 1);
}

TEST(HtmlPage, NeedsNoNetwork) {
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

TEST(HtmlPage, ANameCannotEndTheScriptOrTheTitle) {
    const std::string evil = "</script><script>alert(1)</script>&<!--@SCRIPT@@DATA@";
    const Page page = page_of(evil);
    EXPECT_EQ(data_of(page.html).at("title"), evil);
    EXPECT_EQ(page.html.find("alert(1)</script>"), std::string::npos);
    EXPECT_NE(page.html.find("<title>&lt;/script>"), std::string::npos);
}

}  // namespace
}  // namespace orrery
