// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/fit_study.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/scenarios/test_folder.h"

namespace orrery {
namespace {

// The rows of a published table that begin with `name`.
std::string published(const TestFolder& folder,
                      const std::string& name,
                      const std::string& table = "training.csv") {
    std::ifstream all{ORRERY_SOURCE_DIR "/scenarios/catalogue/published/" + table};
    std::string text;
    for (std::string line; std::getline(all, line);) {
        text += line.starts_with("case,") || line.starts_with(name) ? line + "\n" : "";
    }
    return folder.write(table, text);
}

TEST(FitStudy, FitsStepsAndSaysInTheTableHowItWasMade) {
    const TestFolder folder;
    const std::string cases = published(folder, "MS-256-M,");
    const std::string experts = published(folder, "MPF-T3-mixtral-8x22b-", "training_moe.csv");
    const auto fitted = fit_steps(
        {.file = cases, .unseen = cases, .experts = experts, .floor = true, .jobs = 1});
    ASSERT_TRUE(fitted) << fitted.error().front().to_string();
    EXPECT_EQ(fitted->fit.samples.size(), 1U);
    EXPECT_EQ(fitted->unseen.families.size(), 1U);
    EXPECT_FALSE(fitted->unseen.pools.at(Unseen::experts).empty());
    EXPECT_FALSE(fitted->calls.empty());
    EXPECT_TRUE(fitted->floor);
    EXPECT_NE(fitted->csv.find("fit " + cases + " --unseen " + cases + " --experts " + experts),
              std::string::npos);
}

TEST(FitStudy, ReportsATableThatIsNotNamedOrHasNothingToFit) {
    const TestFolder folder;
    EXPECT_NE(fit_steps({}).error().front().what.find("no table"), std::string::npos);
    const std::string cases = published(folder, "no such case");
    const auto empty = fit_steps({.file = cases, .unseen = cases, .jobs = 1});
    ASSERT_FALSE(empty);
    EXPECT_FALSE(fit_kernels({.file = cases, .kernels = true}));
}

}  // namespace
}  // namespace orrery
