// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/report/validation_report.h"
#include "tests/scenarios/golden_report.h"

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
    expect_golden("timed", to_text(timed_sections(sample_times())));
}

TEST(TimedReport, JsonHasTheSame) {
    const auto json = nlohmann::json::parse(json_report(sample_times()));
    EXPECT_EQ(json["rows"][0]["error"], -0.25);
    EXPECT_EQ(json["families"]["family y"]["median"], 0.25);
    EXPECT_EQ(json["skipped"][0]["case"], "row z");
    EXPECT_EQ(json["overall"]["balanced_median"], 0.25);
}

}  // namespace
}  // namespace orrery
