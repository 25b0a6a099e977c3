// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/timed_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery {
namespace {

TimedValidation sample_times() {
    TimedValidation v;
    v.rows = {{.name = "row x",
               .family = "family y",
               .measured_us = 40,
               .predicted_us = 30,
               .as = "deepep, 24 SMs"}};
    v.skipped = {{"row z", "family y", "no dispatcher is 'pigeon'"}};
    summarise(v);
    return v;
}

TEST(TimedReport, HasRowsFamiliesAndWhatWasLeftOut) {
    const std::string text = timed_report(sample_times());
    for (const char* part :
         {"row x", "-25.0%  deepep, 24 SMs", "family y", "25.0%", "no dispatcher is 'pigeon'"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
}

TEST(TimedReport, JsonHasTheSame) {
    const auto json = nlohmann::json::parse(json_report(sample_times()));
    EXPECT_EQ(json["rows"][0]["error"], -0.25);
    EXPECT_EQ(json["families"]["family y"]["median"], 0.25);
    EXPECT_EQ(json["skipped"][0]["case"], "row z");
    EXPECT_EQ(json["balanced_median"], 0.25);
}

}  // namespace
}  // namespace orrery
