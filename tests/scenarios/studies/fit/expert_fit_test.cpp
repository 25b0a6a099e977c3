// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/expert_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace {

const Catalogue& shipped() {
    static const Catalogue catalogue{ORRERY_SOURCE_DIR "/scenarios/catalogue"};
    return catalogue;
}

std::vector<PublishedCase> rows_of(const char* table, const char* family) {
    auto rows = read_published_cases(
        (std::filesystem::path{ORRERY_SOURCE_DIR "/scenarios/catalogue/published"} / table)
            .string());
    EXPECT_TRUE(rows);
    std::erase_if(*rows, [&](const PublishedCase& row) { return row.family != family; });
    return std::move(*rows);
}

FamilyErrors errors_of(const std::vector<PublishedCase>& rows,
                       const EfficiencyTable& table,
                       std::uint32_t jobs = 1) {
    const auto samples = sample_experts(rows, shipped(), table, jobs);
    EXPECT_TRUE(samples);
    return expert_errors(samples.value_or(std::vector<ExpertSample>{}));
}

TEST(ExpertErrors, AreOfModelsWithExpertsThatCanBeExpressed) {
    std::vector<PublishedCase> rows = rows_of("training_moe.csv", "bridge-recompute");
    ASSERT_EQ(rows.size(), 6u);
    rows.resize(2);
    rows.push_back(rows_of("training_moe.csv", "zero-offload").front());  // a dense model
    rows.push_back(rows.front());
    rows.back().token_dispatcher = "pigeon";
    const FamilyErrors errors = errors_of(rows, {});
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors.at("bridge-recompute").size(), 2u);
    EXPECT_EQ(errors_of(rows, {}, 4), errors) << "whatever the number of threads";
}

TEST(ExpertErrors, OfKnownRowsFollowFromTheirTerms) {
    std::vector<PublishedCase> rows = rows_of("training_moe.csv", "bridge-recompute");
    rows.resize(2);
    const auto samples = sample_experts(rows, shipped(), {});
    ASSERT_TRUE(samples);
    RowTerms terms = terms_of(*samples);
    EXPECT_EQ(sample_experts(rows, shipped(), {}, 1, terms).value(), *samples);
    terms.at(rows[1].name).at("step") = 12;
    EXPECT_EQ(sample_experts(rows, shipped(), {}, 1, terms).value()[1].predicted_s, 12);
}

TEST(ExpertErrors, AreLogarithmsOfPredictedOverMeasured) {
    std::vector<PublishedCase> rows = rows_of("training_moe.csv", "bridge-recompute");
    rows.resize(1);
    const double error = errors_of(rows, {}).at("bridge-recompute").front();
    rows.front().measured_s *= std::exp(1.0);
    EXPECT_NEAR(errors_of(rows, {}).at("bridge-recompute").front(), error - 1, 1e-9);
    // The host binds these steps, and takes the time of calls that the factors tell.
    EfficiencyTable slow_host;
    slow_host.set("host.call", "*", "*", {.value = 40, .sigma = 0, .source = "x"});
    EXPECT_GT(errors_of(rows, slow_host).at("bridge-recompute").front(), error);
}

}  // namespace
}  // namespace orrery
