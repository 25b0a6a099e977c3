// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/serving_report.h"

namespace orrery {
namespace {

TEST(RealServingReport, ShowsThePredictionBesideTheMeasuredFigures) {
    Scenario scenario;
    scenario.name = "s";
    scenario.model.name = "m";
    RealServingAnswer answer;
    answer.device = "GPU";
    answer.measured.requests = answer.predicted.requests = 7;
    answer.measured.pools = {{.instances = 1}};
    answer.measured.ttft_s.mean = 0.2;
    answer.predicted.ttft_s.mean = 0.25;
    const std::string text = to_text(real_serving_sections(scenario, answer, {}));
    EXPECT_NE(text.find("m on GPU, measured"), std::string::npos) << text;
    EXPECT_NE(text.find("+25.0 %"), std::string::npos) << text;
    const auto json = nlohmann::json::parse(real_serving_json(scenario, answer));
    EXPECT_EQ(json["requests"], 7);
    EXPECT_EQ(json["ttft_s"]["mean"], 0.2);
    EXPECT_EQ(json["predicted"]["ttft_s"]["mean"], 0.25);
    EXPECT_FALSE(json["predicted"].contains("pools"));
}

}  // namespace
}  // namespace orrery
