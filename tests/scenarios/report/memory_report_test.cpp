// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/memory_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/golden_report.h"

namespace orrery {
namespace {

TEST(MemoryReport, TellsOutcomesThatAreOnTheWrongSide) {
    constexpr double kGib = 1 << 30;
    const MemoryValidation validation{.rows = {{.name = "a",
                                                .family = "f",
                                                .measured_peak_b = 10 * kGib,
                                                .predicted_peak_b = 11 * kGib},
                                               {.name = "b",
                                                .family = "f",
                                                .ran = false,
                                                .predicted_peak_b = 70 * kGib,
                                                .beside_plan_b = 6 * kGib}},
                                      .skipped = {{"c", "why"}},
                                      .ran = 1,
                                      .ran_and_fit = 1,
                                      .out_of_memory = 1,
                                      .peaks = 1,
                                      .median_error = 0.1};
    expect_golden("memory", to_text(memory_sections(validation)));
    EXPECT_NE(does_not_fit_line({.overheads = {{"driver", Bytes{1 << 20}}}}).find("needs 1.00 MiB"),
              std::string::npos);
    const auto json = nlohmann::json::parse(json_report(validation));
    EXPECT_EQ(json["overall"]["out_of_memory"], 1);
    EXPECT_TRUE(json["rows"][1]["measured_peak_bytes"].is_null());
}

}  // namespace
}  // namespace orrery
