// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/validation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace orrery {
namespace {

ValidatedCase plan(const char* choice, double measured, double predicted) {
    return {.measured_s = measured, .predicted_s = predicted, .choice = choice};
}

TEST(Ranking, ComparesPlansOfTheSameWorkOnly) {
    EXPECT_EQ(rank_plans({}).pairs, 0u);
    EXPECT_EQ(rank_plans({plan("", 1, 1), plan("", 2, 2)}).pairs, 0u);
    const Ranking right = rank_plans(
        {plan("a", 1, 10), plan("b", 5, 1), plan("a", 2, 20), plan("a", 3, 30), plan("b", 6, 2)});
    EXPECT_EQ(right.pairs, 4u);
    EXPECT_EQ(right.choices, 2u);
    EXPECT_DOUBLE_EQ(right.tau, 1);
    // One pair of three the wrong way round; equal predictions say nothing; equal measurements are
    // no pair.
    EXPECT_DOUBLE_EQ(rank_plans({plan("a", 1, 2), plan("a", 2, 1), plan("a", 3, 3)}).tau, 1.0 / 3);
    EXPECT_DOUBLE_EQ(rank_plans({plan("a", 1, 2), plan("a", 2, 2)}).tau, 0);
    EXPECT_EQ(rank_plans({plan("a", 1, 2), plan("a", 1, 3)}).pairs, 0u);
}

TEST(Ranking, FamiliesWithSeveralCasesOfAModelWeighTheSame) {
    const auto of = [](const char* family, const char* model, double measured, double predicted) {
        return ValidatedCase{
            .family = family, .measured_s = measured, .predicted_s = predicted, .model = model};
    };
    // Family a: one pair of three the wrong way round; b: one pair, right; c: of two models.
    const Ranking ranking = rank_plans({of("a", "x", 1, 2),
                                        of("a", "x", 2, 1),
                                        of("a", "x", 3, 3),
                                        of("b", "x", 1, 1),
                                        of("b", "x", 2, 5),
                                        of("c", "x", 1, 3),
                                        of("c", "y", 2, 2)});
    EXPECT_EQ(ranking.families, 2U);
    EXPECT_DOUBLE_EQ(ranking.families_tau, (1.0 / 3 + 1) / 2);
    EXPECT_EQ(ranking.pairs, 0U);
}

TEST(Validation, RanksCorrelate) {
    EXPECT_DOUBLE_EQ(spearman({1, 2, 3}, {10, 20, 30}), 1);
    EXPECT_DOUBLE_EQ(spearman({1, 2, 3}, {30, 20, 10}), -1);
    EXPECT_NEAR(spearman({1, 2, 2, 4}, {1, 3, 2, 4}), 0.9486832980505138, 1e-12);
}

TEST(Validation, EveryFamilyWeighsTheSame) {
    Validation v;
    for (int i = 0; i < 9; ++i) {
        v.rows.push_back(
            {.name = "", .family = "many", .measured_s = 1, .predicted_s = 1.02, .control_s = 1});
    }
    v.rows.push_back(
        {.name = "", .family = "one", .measured_s = 1, .predicted_s = 0.9, .control_s = 1});
    summarise_families(v);
    EXPECT_NEAR(v.balanced_error, (0.02 + 0.1) / 2, 1e-12);
    EXPECT_NEAR(v.p90_error, 0.02 + 0.1 * 0.08, 1e-12);  // between the ninth and the tenth
}

TEST(Validation, SummariesOfNothingAreZero) {
    EXPECT_EQ(summarise({}).cases, 0U);
    EXPECT_EQ(summarise({}).median, 0);
    EXPECT_EQ(spearman({1, 1, 1}, {1, 2, 3}), 0);  // nothing to order
    Validation v;
    summarise_families(v);
    EXPECT_TRUE(v.families.empty());
    EXPECT_EQ(v.balanced_error, 0);
}

TEST(Validation, ErrorsAreRelativeToWhatWasMeasured) {
    const ValidatedCase row{
        .name = "", .family = "", .measured_s = 4, .predicted_s = 5, .control_s = 3};
    EXPECT_DOUBLE_EQ(row.error(), 0.25);
    EXPECT_DOUBLE_EQ(row.control_error(), -0.25);
}

// exp(+-1.645 sigma) holds 90 % of a log-normal.
TEST(Validation, IntervalsAreWiderTheLessIsKnown) {
    ValidatedCase row{.name = "", .family = "", .measured_s = 1, .predicted_s = 1.1, .sigma = 0.05};
    EXPECT_NEAR(row.half_width(), 0.0857, 1e-4);
    EXPECT_FALSE(row.within());
    row.sigma = 0.06;
    EXPECT_TRUE(row.within());
    row.predicted_s = 1 / 1.1;  // as far below as above
    EXPECT_TRUE(row.within());
    row.sigma = 0.057;
    EXPECT_FALSE(row.within());
}

TEST(Validation, CountsHowManyMeasurementsLieWithin) {
    Validation v;
    for (int i = 0; i < 4; ++i) {
        v.rows.push_back({.name = "",
                          .family = i < 3 ? "three" : "one",
                          .measured_s = 1,
                          .predicted_s = i < 2 ? 1.05 : 1.5,
                          .control_s = 1,
                          .sigma = 0.1});
    }
    summarise_families(v);
    EXPECT_DOUBLE_EQ(v.coverage, 0.5);
    EXPECT_DOUBLE_EQ(v.balanced_coverage, (2.0 / 3 + 0) / 2);
    EXPECT_DOUBLE_EQ(v.families[0].coverage, 2.0 / 3);
    EXPECT_NEAR(v.median_half_width, std::expm1(0.16448536), 1e-8);
}

// A predictor that is wrong by one factor everywhere still gets every ratio and the order right.
TEST(Validation, RatiosForgiveACommonFactor) {
    Validation v;
    for (const double measured : {1.0, 2.0, 3.5, 7.0}) {
        v.rows.push_back({.name = "",
                          .family = "f",
                          .measured_s = measured,
                          .predicted_s = 1.5 * measured,
                          .control_s = 10 - measured});
    }
    summarise_families(v);
    const FamilySummary& family = v.families.at(0);
    EXPECT_NEAR(family.predicted.median, 0.5, 1e-12);
    EXPECT_EQ(family.ratios.pairs, 6U);
    EXPECT_NEAR(family.ratios.max, 0, 1e-12);
    EXPECT_EQ(family.ratios.rank_correlation, 1);
    for (ValidatedCase& row : v.rows) {
        row.predicted_s = row.control_s;
    }
    summarise_families(v);
    EXPECT_EQ(v.families.at(0).ratios.rank_correlation, -1);
}

TEST(Validation, RatiosAreOfOneSoftware) {
    Validation v;
    for (const char* stack : {"1.0", "2.0", "2.0"}) {
        v.rows.push_back({.name = "",
                          .family = "f",
                          .measured_s = 1,
                          .predicted_s = 1,
                          .control_s = 1 + 0.1 * static_cast<double>(v.rows.size()),
                          .stack = stack});
    }
    summarise_families(v);
    EXPECT_EQ(v.families[0].ratios.pairs, 1U);
}

// Of two cases in proportion to their FLOP everybody knows the ratio: no pair. The others' ratio is
// off by what their errors differ.
TEST(Validation, RatiosCountWhereEfficienciesDiffer) {
    Validation v;
    for (const auto& [family, measured, predicted, control] :
         std::vector<std::tuple<const char*, double, double, double>>{{"a", 1.0, 1.0, 1.0},
                                                                      {"a", 1.0, 1.1, 1.03},
                                                                      {"a", 1.0, 1.0, 1.08},
                                                                      {"b", 1.0, 1.0, 1.0},
                                                                      {"b", 1.0, 0.8, 1.25},
                                                                      {"c", 1.0, 2.0, 1.0},
                                                                      {"c", 1.0, 1.0, 1.0}}) {
        v.rows.push_back({.name = "",
                          .family = family,
                          .measured_s = measured,
                          .predicted_s = predicted,
                          .control_s = control});
    }
    summarise_families(v);
    EXPECT_EQ(v.families[0].ratios.pairs, 2U);  // 1.08 with 1 and with 1.03
    EXPECT_NEAR(v.families[0].ratios.median, (0.0 + 0.1) / 2, 1e-12);
    EXPECT_NEAR(v.families[1].ratios.median, 0.25, 1e-12);
    EXPECT_NEAR(v.families[1].ratios.control_median, 0.2, 1e-12);
    EXPECT_EQ(v.families[2].ratios.pairs, 0U);
    EXPECT_NEAR(v.ratio_error, (0.05 + 0.25) / 2, 1e-12);
    EXPECT_GT(v.control_ratio_error, kEfficiencyDiffers);
}

TEST(Validation, FamiliesKeepTheOrderOfTheirFirstRow) {
    Validation v;
    for (const char* family : {"z", "a", "z", "m"}) {
        v.rows.push_back(
            {.name = "", .family = family, .measured_s = 1, .predicted_s = 1, .control_s = 1});
    }
    summarise_families(v);
    ASSERT_EQ(v.families.size(), 3U);
    EXPECT_EQ(v.families[0].family, "z");
    EXPECT_EQ(v.families[1].family, "a");
    EXPECT_EQ(v.families[2].family, "m");
    EXPECT_EQ(v.families[0].predicted.cases, 2U);
}

}  // namespace
}  // namespace orrery
