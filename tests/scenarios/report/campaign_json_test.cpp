// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_report.h"

namespace orrery {
namespace {

TEST(CampaignJson, HasTheFirstPlansNumbersAtTheTopAndEveryPlans) {
    CampaignAnswer answer;
    answer.plans.resize(2);
    answer.plans[0].name = "first";
    answer.plans[0].policies = {"spares"};
    answer.plans[0].ettr = {.mean = 0.91, .low = 0.90, .high = 0.92};
    answer.plans[0].interruptions = {.mean = 464, .low = 460, .high = 468};
    answer.plans[0].gpu_hours[0] = 1234.5;
    answer.plans[1].name = "second";
    const auto json = nlohmann::json::parse(json_report(answer));
    EXPECT_DOUBLE_EQ(json["ettr_mean"], 0.91);
    EXPECT_EQ(json["ettr_interval"], nlohmann::json::parse("[0.9, 0.92]"));
    EXPECT_DOUBLE_EQ(json["interruptions_mean"], 464);
    EXPECT_DOUBLE_EQ(json["gpu_hours"][std::string{name(static_cast<NodeUse>(0))}], 1234.5);
    EXPECT_EQ(json["gpu_hours"].size(), kNumNodeUses);
    ASSERT_EQ(json["policies"].size(), 2U);
    EXPECT_EQ(json["policies"][0]["policies"], nlohmann::json::parse(R"(["spares"])"));
    EXPECT_EQ(json["policies"][1]["name"], "second");
    EXPECT_DOUBLE_EQ(json["policies"][0]["ettr_mean"], json["ettr_mean"]);
}

}  // namespace
}  // namespace orrery
