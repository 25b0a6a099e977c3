// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/memory_cases.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/report/memory_report.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

constexpr const char* kMemoryTable =
    ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training_memory.csv";

TEST(MemoryCases, KnowTheirTable) {
    EXPECT_TRUE(is_memory_table(kMemoryTable));
    EXPECT_FALSE(
        is_memory_table(ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training_more.csv"));
    EXPECT_FALSE(is_memory_table("/nowhere/none.csv"));
}

// Times with a peak beside some of them are steps.
TEST(MemoryCases, ArePeaksWithAnOutcome) {
    const TestFolder folder;
    const auto steps =
        folder.write("steps.csv", "case,measured_iteration_s,measured_peak_memory_bytes\n");
    EXPECT_FALSE(is_memory_table(steps));
}

TEST(MemoryCases, EveryConfigurationThatRanFitsAndPeaksAreWithinThreePercent) {
    const auto cases = read_memory_cases(kMemoryTable);
    ASSERT_TRUE(cases) << cases.error().front().what;
    EXPECT_EQ(cases->size(), 65U);
    const MemoryValidation found = validate_memory(*cases, default_catalogue()).value();
    EXPECT_TRUE(found.skipped.empty());
    EXPECT_EQ(found.ran, 59U);
    EXPECT_EQ(found.ran_and_fit, found.ran);
    // The aim is 85 % (docs/explanation/accuracy-training.md says what is missing).
    EXPECT_EQ(found.out_of_memory, 6U);
    EXPECT_GE(found.out_and_too_large, 5U);
    EXPECT_EQ(found.peaks, 59U);
    EXPECT_LT(found.median_error, 0.03);
    const std::string text = to_text(memory_sections(found));
    EXPECT_NE(text.find("59 of 59 configurations that ran fit"), std::string::npos);
}

// Whole tables of BigScience's, predicted before anything was changed for them.
TEST(MemoryCases, OfTheBlindTableFitIfTheyRan) {
    const auto cases = read_memory_cases(
        ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training_memory_blind.csv");
    ASSERT_TRUE(cases) << cases.error().front().what;
    const MemoryValidation found = validate_memory(*cases, default_catalogue()).value();
    EXPECT_TRUE(found.skipped.empty());
    EXPECT_EQ(found.ran, 86U);
    EXPECT_EQ(found.ran_and_fit, found.ran);
    EXPECT_EQ(found.out_of_memory, 10U);
    EXPECT_GE(found.out_and_too_large, 8U);
}

// A measured step ran. These families have steps whose memory shows what was recomputed: without,
// the plan of one is larger than the device.
TEST(MemoryCases, MeasuredStepsFit) {
    const std::filesystem::path published = default_catalogue() / "published";
    for (const auto& [table, family, steps] :
         {std::tuple{"training_more.csv", "nemo-launcher-a100", 28U},
          std::tuple{"training_moe_blind.csv", "automodel-moe", 6U}}) {
        const auto rows = read_published_cases((published / table).string());
        ASSERT_TRUE(rows) << rows.error().front().what;
        std::vector<MemoryCase> ran;
        for (const PublishedCase& row : *rows) {
            if (row.family == family) {
                ran.push_back({.row = row});
            }
        }
        ASSERT_EQ(ran.size(), steps);
        const MemoryValidation found = validate_memory(ran, default_catalogue()).value();
        EXPECT_TRUE(found.skipped.empty());
        for (const ValidatedMemory& one : found.rows) {
            EXPECT_TRUE(one.fits) << one.name;
        }
    }
}

TEST(MemoryCases, RefuseOtherOutcomes) {
    const TestFolder folder;
    std::ifstream file{kMemoryTable};
    std::string text;
    std::string line;
    std::getline(file, line);
    text = line + "\n";
    std::getline(file, line);
    line.replace(line.rfind(",oom,"), 5, ",lost,");
    const auto cases = read_memory_cases(folder.write("bad.csv", text + line + "\n"));
    ASSERT_FALSE(cases);
    EXPECT_NE(cases.error().front().what.find("outcome can't be 'lost'"), std::string::npos);
}

}  // namespace
}  // namespace orrery
