// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/search_report.h"

namespace orrery {
namespace {

PlacedNodes found_order() {
    PlacedNodes placed{.order = {2, 0, 1}, .answer = {}, .before = {}, .simulations = 5};
    placed.before.iteration = Time::seconds(3);
    placed.before.lost_mfu = {{.cause = Cause::exposed_data, .time = Time::seconds(2)}};
    placed.answer.iteration = Time::seconds(2);
    placed.answer.lost_mfu = {{.cause = Cause::exposed_data, .time = Time::seconds(1)}};
    placed.answer.tokens_per_s = 1000;
    return placed;
}

TEST(PlacedNodesReport, SaysTheOrderAsAKeyAndWhatChanges) {
    const std::string text = to_text(placed_sections({}, found_order()));
    for (const char* part : {"cluster.node_order",
                             "[2,0,1]",
                             "1.500",
                             "exposed data-parallel",
                             "-33.3 %",
                             "-1.00 s"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
    PlacedNodes same = found_order();
    same.answer = same.before;
    EXPECT_EQ(to_text(placed_sections({}, same)).find("What changes"), std::string::npos);
}

TEST(PlacedNodesReport, JsonHasBothSteps) {
    const auto json = nlohmann::json::parse(placed_json({}, found_order()));
    EXPECT_EQ(json["node_order"], (std::vector<int>{2, 0, 1}));
    EXPECT_EQ(json["before_iteration_s"], 3);
    EXPECT_EQ(json["iteration_s"], 2);
    EXPECT_EQ(json["simulations"], 5);
}

}  // namespace
}  // namespace orrery
