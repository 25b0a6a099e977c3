// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/step_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace orrery {
namespace {

const std::filesystem::path kCatalogueRoot{ORRERY_SOURCE_DIR "/scenarios/catalogue"};
constexpr const char* kCommand =
    "fit scenarios/catalogue/published/training.csv --terms tests/determinism/step_terms.csv "
    "-o scenarios/catalogue/step_efficiency.csv";

std::string read_whole(const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

std::string head_of(const std::string& table) {
    return table.substr(0, table.find("name,"));
}

// tests/determinism/step_table_again_test.cpp makes the whole table again.
TEST(StepTable, TheCommittedOneIsMadeFromTheCommittedFiles) {
    const std::string made = step_efficiency_csv({}, kCommand, catalogue_inputs(kCatalogueRoot));
    EXPECT_EQ(head_of(read_whole(kCatalogueRoot / "step_efficiency.csv")), head_of(made))
        << "the table is stale: ./orrery " << kCommand;
}

TEST(StepTable, AChangedFileIsAnotherFingerprint) {
    const std::filesystem::path changed =
        std::filesystem::path{testing::TempDir()} / "training.csv";
    const StepTableInputs as_committed = catalogue_inputs(kCatalogueRoot);
    StepTableInputs inputs = as_committed;
    inputs.steps = changed;
    std::ofstream{changed} << read_whole(as_committed.steps);
    EXPECT_EQ(fingerprints(inputs), fingerprints(as_committed));
    std::ofstream{changed} << read_whole(as_committed.steps) << "\n";
    EXPECT_NE(fingerprints(inputs), fingerprints(as_committed));
    std::filesystem::remove(changed);
}

TEST(StepTable, ReadsBack) {
    EfficiencyTable table;
    table.set("sustained.gemm", "ampere", "fp16", {.value = 1.25, .sigma = 0.05, .source = "x"});
    table.set("step.shift.software", "*", "*", {.value = -0.05, .sigma = 0.2, .source = "x"});
    const std::filesystem::path file = std::filesystem::path{testing::TempDir()} / "steps.csv";
    std::ofstream{file} << step_efficiency_csv(table, kCommand, catalogue_inputs(kCatalogueRoot));
    const auto read = read_efficiency_table(file.string());
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, table);
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace orrery
