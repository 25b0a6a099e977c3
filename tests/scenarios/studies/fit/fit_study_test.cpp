// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/fit_study.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/test_folder.h"

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
    const auto fitted =
        fit_steps({.file = cases, .unseen = cases, .experts = experts, .floor = true, .jobs = 1});
    ASSERT_TRUE(fitted) << fitted.error().front().to_string();
    EXPECT_EQ(fitted->fit.samples.size(), 1U);
    EXPECT_EQ(fitted->unseen.families.size(), 1U);
    EXPECT_FALSE(fitted->unseen.pools.at(Unseen::experts).empty());
    EXPECT_FALSE(fitted->calls.empty());
    EXPECT_TRUE(fitted->floor);
    EXPECT_NE(fitted->csv.find("fit " + cases + " --unseen " + cases + " --experts " + experts),
              std::string::npos);
}

TEST(FitStudy, OfKnownRowsIsTheSameAndFollowsFromTheirTerms) {
    const TestFolder folder;
    const std::string cases = published(folder, "MS-256-M,");
    const std::string unseen = published(folder, "AO-h100-8b-bf16,", "training_more.csv");
    const std::string experts = published(folder, "MPF-T3-mixtral-8x22b-", "training_moe.csv");
    FitSpec spec{.file = cases, .unseen = unseen, .experts = experts, .jobs = 1};
    const auto simulated = fit_steps(spec);
    ASSERT_TRUE(simulated) << simulated.error().front().to_string();
    const auto known = read_step_terms(folder.write("terms.csv", simulated->terms_csv));
    ASSERT_TRUE(known) << known.error().front().to_string();
    EXPECT_EQ(known->steps.size(), 1U);
    EXPECT_FALSE(known->calls.empty());
    EXPECT_FALSE(known->unseen.empty());
    EXPECT_FALSE(known->experts.empty());
    spec.known = *known;
    const auto again = fit_steps(spec);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->csv, simulated->csv);
    EXPECT_EQ(again->terms_csv, simulated->terms_csv);
    // Kernels that take three times as long in the simulator than in the measured step.
    for (auto& [name, value] : spec.known.steps.begin()->second) {
        value *= name.starts_with("sustained.") ? 3 : 1;
    }
    const auto moved = fit_steps(spec);
    ASSERT_TRUE(moved);
    EXPECT_NE(moved->csv, simulated->csv);
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
