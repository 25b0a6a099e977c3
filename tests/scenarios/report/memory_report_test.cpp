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

// The server is too small, and the GPU is not.
TEST(MemoryReport, TheGpuFitsWhereOnlyItsServerIsTooSmall) {
    MemoryUse use{.peak = Bytes{1 << 20}, .device = Bytes{1 << 30}, .fits = false};
    use.host = Bytes{std::int64_t{3} << 30};
    use.host_memory = Bytes{std::int64_t{2} << 30};
    use.largest = {{.name = "a weight", .bytes = Bytes{1 << 20}}};
    const ReportSection section = memory_section(use);
    EXPECT_NE(section.facts.front().value.find("of 1.00 GiB: fits"), std::string::npos)
        << section.facts.front().value;
    EXPECT_TRUE(section.table.rows.empty());
    use.device = Bytes{1 << 10};
    EXPECT_EQ(memory_section(use).table.rows.size(), 1U);
}

TEST(MemoryReport, NamesTheTierThatIsTooSmallByHowMuchAndItsLargestTensor) {
    MemoryUse use{.peak = Bytes{1 << 20}, .device = Bytes{1 << 30}, .fits = false};
    use.host = Bytes{std::int64_t{3} << 30};
    use.host_memory = Bytes{std::int64_t{2} << 30};
    use.host_largest = {.name = "stage 0 optimizer state", .bytes = Bytes{1 << 30}};
    for (const std::string& line :
         {does_not_fit_line(use), tier_words(use.host, use.host_memory, use.host_largest)}) {
        EXPECT_NE(line.find("1.00 GiB"), std::string::npos) << line;
        EXPECT_NE(line.find("stage 0 optimizer state"), std::string::npos) << line;
    }
    use.host = Bytes{};
    use.drives = Bytes{std::int64_t{5} << 40};
    use.drives_size = Bytes{std::int64_t{4} << 40};
    EXPECT_NE(does_not_fit_line(use).find(
                  "needs 5120 GiB of drive space and has 4096 GiB, 1024 GiB too little"),
              std::string::npos)
        << does_not_fit_line(use);
    EXPECT_EQ(tier_words(use.drives, Bytes{}, {}), "5120 GiB of a server");
    EXPECT_NE(tier_words(use.drives, use.drives, {}).find(": fits"), std::string::npos);
}

}  // namespace
}  // namespace orrery
