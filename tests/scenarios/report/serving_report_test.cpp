// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/serving_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery {
namespace {

using namespace literals;

Scenario served_scenario() {
    Scenario scenario;
    scenario.name = "s";
    scenario.model.name = "m";
    scenario.serving.engine.name = "e";
    scenario.workload.request_rate = 2;
    return scenario;
}

ServingAnswer served_answer() {
    ServingAnswer answer;
    answer.requests = 2;
    answer.refused = 1;
    answer.ttft_s = {.mean = 0.25, .p50 = 0.2, .p90 = 0.3, .p99 = 0.4};
    answer.makespan = Time::seconds(10);
    answer.pools = {{.instances = 1, .busy = 0.5, .batches = 7, .cache_tokens = 100}};
    return answer;
}

ServingResult served_result() {
    ServingResult result;
    for (const double first : {0.1, 0.3}) {
        result.records.push_back({.arrival = Time{},
                                  .first_scheduled = Time{},
                                  .first_token = Time::seconds(first),
                                  .last_token = Time::seconds(2 * first),
                                  .output_tokens = 2});
    }
    result.records.push_back({.refused = true});
    return result;
}

TEST(ServingReport, SectionsAreInEveryForm) {
    const Report report = serving_sections(served_scenario(), served_answer(), served_result());
    const std::string text = to_text(report);
    for (const char* part : {"m by e on",
                             "2 requests a second",
                             "1 requests are refused",
                             "first token",
                             "aggregated",
                             "50.0 %"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
    ASSERT_EQ(report.sections.size(), 4U);
    const PageChart& chart = *report.sections[3].chart;
    EXPECT_EQ(chart.series.size(), 2U);
    EXPECT_DOUBLE_EQ(*chart.series[1].values.back(), 1.0);
    EXPECT_DOUBLE_EQ(*chart.series[0].values.front(), 0.5);
}

TEST(ServingReport, LatenciesOfNoRequestAreNoZeros) {
    const Report report = serving_sections(served_scenario(), {}, {});
    EXPECT_EQ(report.cards[1].value, "none");
    EXPECT_EQ(report.cards[2].value, "none");
    EXPECT_EQ(report.cards[3].value, "none");
    for (const std::vector<Cell>& row : report.sections.front().table.rows) {
        EXPECT_TRUE(row[1].empty() && row[4].empty());
    }
    const std::string text = to_text(report);
    EXPECT_NE(text.find("128 out: no request is served\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("0.00 us"), std::string::npos) << text;
}

TEST(ServingReport, RemarksOnModelsAreInEveryForm) {
    Scenario scenario = served_scenario();
    scenario.model_remarks = {"serving.encoder.model.hf_config: not known, and left out: a 1"};
    const std::string text = to_text(serving_sections(scenario, served_answer(), served_result()));
    const std::string json = serving_json(scenario, served_answer());
    EXPECT_NE(text.find(scenario.model_remarks.front()), std::string::npos) << text;
    EXPECT_NE(json.find(scenario.model_remarks.front()), std::string::npos) << json;
}

TEST(ServingReport, ALoadOfClientsIsNotAllRequestsAtOnce) {
    Scenario scenario = served_scenario();
    scenario.workload.clients = "folder/c.csv";
    scenario.workload.client_group = "chat";
    scenario.workload.request_rate = 0;
    const auto text = [&] {
        return to_text(serving_sections(scenario, served_answer(), served_result()));
    };
    EXPECT_NE(text().find("clients chat of c.csv: 2 requests in"), std::string::npos) << text();
    scenario.workload.request_rate = 3;
    EXPECT_NE(text().find("clients chat of c.csv, 3 requests a second"), std::string::npos);
}

TEST(ServingReport, JsonHasSecondsAndTokens) {
    const auto json = nlohmann::json::parse(serving_json(served_scenario(), served_answer()));
    EXPECT_EQ(json["requests"], 2);
    EXPECT_EQ(json["refused"], 1);
    EXPECT_EQ(json["ttft_s"]["p99"], 0.4);
    EXPECT_EQ(json["pools"][0]["role"], "aggregated");
    EXPECT_EQ(json["makespan_s"], 10.0);
    EXPECT_EQ(json["parts_s"]["queued"]["mean"], 0.0);
    EXPECT_TRUE(json["load"].empty());
    ServedTimeline timeline;
    timeline.completed({.first_stage_end = 1_us, .end = 1_us, .generating = 3});
    const auto watched =
        nlohmann::json::parse(serving_json(served_scenario(), served_answer(), timeline));
    EXPECT_EQ(watched["load"][0][0]["sequences"], 3.0);
}

}  // namespace
}  // namespace orrery
