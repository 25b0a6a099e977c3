// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_report.h"

namespace orrery {
namespace {

TEST(ValidationJson, HasEveryRowAndEveryReason) {
    Validation v;
    v.rows = {{.name = "A",
               .family = "f",
               .measured_s = 10,
               .predicted_s = 11,
               .control_s = 12,
               .shift = std::log(1.1)}};
    v.skipped = {{"B", "g", "mixture-of-experts models are not expressible yet"}};
    summarise_families(v);
    const auto json = nlohmann::json::parse(json_report(v));
    EXPECT_EQ(json["rows"][0]["case"], "A");
    EXPECT_DOUBLE_EQ(json["rows"][0]["measured_s"], 10);
    EXPECT_DOUBLE_EQ(json["rows"][0]["predicted_s"], 11);
    EXPECT_NEAR(json["rows"][0]["simulated_s"].get<double>(), 10, 1e-9);
    EXPECT_EQ(json["skipped"][0]["reason"], v.skipped[0].reason);
    EXPECT_NEAR(json["families"]["f"]["predicted"]["median"].get<double>(), 0.1, 1e-12);
    EXPECT_NEAR(json["overall"]["control_balanced_error"].get<double>(), 0.2, 1e-12);
}

TEST(ValidationJson, HasNoErrorOfNothing) {
    Validation v;
    v.skipped = {{"B", "g", "no such gpu"}};
    summarise_families(v);
    const auto json = nlohmann::json::parse(json_report(v));
    EXPECT_TRUE(json["overall"]["balanced_error"].is_null());
    EXPECT_EQ(json["overall"]["skipped"], 1);
}

}  // namespace
}  // namespace orrery
