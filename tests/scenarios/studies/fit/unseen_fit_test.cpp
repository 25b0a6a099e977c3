// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/unseen_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scenarios/studies/validate/validation.h"

namespace orrery {
namespace {

// A step of products only, that took `factor` of what they take alone.
StepSample step(const char* family, const char* stack, const char* generation, double factor) {
    return {.name = family,
            .family = family,
            .stack = stack,
            .generation = generation,
            .dtype = "fp16",
            .measured_s = factor,
            .num_gpus = 1,
            .kernels = {{{"sustained.gemm", "fp16"}, 1.0}}};
}

TEST(SpreadBetween, IsTheNinetiethPercentileOfBalancedFamilies) {
    EXPECT_EQ(spread_between({}), 0);
    FamilyErrors errors;
    errors["large"] = std::vector<double>(1000, 0.01);
    for (const char* family : {"a", "b", "c"}) {
        errors[family] = {0.2};
    }
    // The 1,000 steps of one family are a quarter of the weight.
    EXPECT_NEAR(spread_between(errors), 0.2 / kQuantile95, 1e-12);
    errors.erase("a");
    errors.erase("b");
    errors.erase("c");
    EXPECT_NEAR(spread_between(errors), 0.01 / kQuantile95, 1e-12);
}

TEST(LeftOutCoverage, JudgesAFamilyByTheOthers) {
    const UnseenPools pools{
        {Unseen::nothing, unseen_steps({{"a", {0.1}}, {"b", {0.1, 0.3}}, {"c", {0.1}}})}};
    // The others of a and c reach 0.3, those of b 0.1: one of its two steps is within.
    EXPECT_NEAR(left_out_coverage(pools, Unseen::nothing), (1 + 0.5 + 1) / 3, 1e-12);
    EXPECT_EQ(left_out_coverage(pools, Unseen::software), 0);
}

// Twelve stacks, each on 8 to 1,024 GPUs: `error` of the stack and the doublings.
template <class Error>
UnseenPools stacks(const Error& error, double seconds = 1) {
    UnseenPools pools;
    for (int stack = 0; stack < 12; ++stack) {
        for (int doublings = 3; doublings <= 10; ++doublings) {
            pools[Unseen::lineage][std::to_string(stack)].push_back(
                {.error = error(stack, doublings),
                 .num_gpus = std::int64_t{1} << doublings,
                 .predicted_s = seconds});
        }
    }
    return pools;
}

TEST(StudentOverNormal, IsTheTablesQuotient) {
    EXPECT_NEAR(student_over_normal(2) * kQuantile95, 2.920, 0.04);
    EXPECT_NEAR(student_over_normal(5) * kQuantile95, 2.015, 0.002);
    EXPECT_NEAR(student_over_normal(12) * kQuantile95, 1.782, 0.001);
    EXPECT_NEAR(student_over_normal(1e6), 1, 1e-5);
}

// Eleven degrees of freedom: twelve stacks without the shift.
const double kOfTwelve = student_over_normal(11);

TEST(SpreadsOf, TheShiftGrowsWithTheGpus) {
    const UnseenPools pools =
        stacks([](int stack, int doublings) { return 0.01 * (stack % 3 - 1) - 0.02 * doublings; });
    const StepSpread spread = spreads_of(pools).at(Unseen::lineage);
    EXPECT_NEAR(spread.shift_doubling, 0.02, 1e-9);
    EXPECT_NEAR(spread.shift, 0, 1e-9);
    EXPECT_NEAR(spread.sigma, kOfTwelve * 0.01 / kQuantile95, 1e-4);
    EXPECT_EQ(spread.sigma_doubling, 0);
    EXPECT_NEAR(left_out_coverage(pools, Unseen::lineage), 1, 1e-12);
    // Without the trend of the others, families on many GPUs alone would lie outside.
    const UnseenSteps& steps = pools.at(Unseen::lineage);
    FamilyErrors plain;
    for (const auto& [name, of_name] : steps) {
        for (const UnseenStep& step : of_name) {
            plain[name].push_back(step.error);
        }
    }
    EXPECT_GT(spread_between(plain, centre_of(plain)), 5 * spread.sigma);
}

TEST(SpreadsOf, TheSpreadGrowsWithThePace) {
    const auto error = [](int stack, int doublings) {
        return 0.02 * (stack % 3 - 1) * std::exp(0.3 * (doublings - 3));
    };
    const StepSpread spread = spreads_of(stacks(error)).at(Unseen::lineage);
    EXPECT_NEAR(spread.sigma_doubling, 0.3, 0.05);
    EXPECT_NEAR(spread.sigma * std::exp(7 * spread.sigma_doubling),
                kOfTwelve * 0.02 * std::exp(2.1) / kQuantile95,
                0.02);
    // The same errors in steps of minutes, whose pace is that of eight GPUs, are of one spread.
    EXPECT_EQ(spreads_of(stacks(error, 200)).at(Unseen::lineage).sigma_doubling, 0);
}

TEST(SpreadsOf, WhatAStepsIntervalHoldsBesidesIsNoneOfThem) {
    UnseenPools pools = stacks([](int stack, int) { return 0.1 * (stack % 3 - 1); });
    const double whole = spreads_of(pools).at(Unseen::lineage).sigma;
    EXPECT_NEAR(whole, kOfTwelve * 0.1 / kQuantile95, 1e-3);
    for (auto& [name, steps] : pools.at(Unseen::lineage)) {
        for (UnseenStep& step : steps) {
            step.explained = 0.8 * 0.1 / kQuantile95;
        }
    }
    EXPECT_NEAR(spreads_of(pools).at(Unseen::lineage).sigma, 0.6 * whole, 1e-9);
    EXPECT_NEAR(left_out_coverage(pools, Unseen::lineage), 1, 1e-12);
    EXPECT_TRUE(spreads_of({}).empty());
}

// Stacks that mostly take longer than predicted.
TEST(SpreadBetween, IsAroundTheMedianOfEnoughGroups) {
    FamilyErrors errors{{"a", {-0.3}}, {"b", {-0.3}}, {"c", {-0.3}}, {"d", {-0.2}}};
    EXPECT_EQ(centre_of(errors), 0) << "four groups tell no centre";
    errors["e"] = {-0.2};
    EXPECT_NEAR(centre_of(errors), -0.3, 1e-12);
    EXPECT_NEAR(spread_between(errors, centre_of(errors)), 0.1 / kQuantile95, 1e-12);
    EXPECT_NEAR(spread_between(errors), 0.3 / kQuantile95, 1e-12);
    EXPECT_EQ(centre_of({}), 0);
}

TEST(LeftOutCoverage, MayBeAroundTheMedianOfTheOthers) {
    FamilyErrors errors;
    for (const char* group : {"a", "b", "c", "d", "e"}) {
        errors[group] = {-0.3};
    }
    errors["f"] = {0.3};
    const UnseenPools pools{{Unseen::nothing, unseen_steps(errors)},
                            {Unseen::experts, unseen_steps(errors)}};
    EXPECT_NEAR(left_out_coverage(pools, Unseen::nothing), 1, 1e-12);
    // The others of f are all at -0.3: it lies outside.
    EXPECT_NEAR(left_out_coverage(pools, Unseen::experts), 5.0 / 6, 1e-12);
}

// Megatron's kin on Ampere, 10 % apart; another lineage 20 % slower; Hopper 30 % slower still.
std::vector<StepSample> fitted_steps() {
    return {step("a", "nemo-1", "ampere", 1.0),
            step("b", "nemo-2", "ampere", 1.0),
            step("c", "megascale-1", "ampere", 1.1),
            step("d", "megascale-1", "ampere", 1.1),
            step("e", "composer-1", "ampere", 1.2),
            step("f", "composer-1", "hopper", 1.5)};
}

std::vector<StepSample> other_steps() {
    return {step("g", "three-1", "ampere", 1.4),
            step("h", "megascale-2", "ampere", 2.0),
            step("i", "megatron-core-1", "ampere", 1.3),
            step("j", "nemo-1", "blackwell", 1.6),
            step("k", "three-1", "blackwell", 1.6)};
}

TEST(UnseenErrors, AreOfStepsThatLackWhatWasLeftOutAlone) {
    const UnseenErrors errors = unseen_errors(fitted_steps(), other_steps());
    const auto names = [&](Unseen kind) {
        std::string all;
        for (const auto& [name, of_name] : errors.pools.at(kind)) {
            all += name + " ";
        }
        return all;
    };
    EXPECT_EQ(errors.families.size(), 6u);
    // e and f are each the only family of their software on their devices.
    EXPECT_EQ(names(Unseen::nothing), "a b c d ");
    EXPECT_EQ(names(Unseen::software), "megascale megatron-core nemo ") << "h's was fitted on";
    EXPECT_EQ(names(Unseen::lineage), "composer megatron-lm three ");
    // k lacks more than its device; of composer, Ampere is seen without Hopper.
    EXPECT_EQ(names(Unseen::device), "ampere blackwell hopper ");
    EXPECT_GT(std::abs(errors.pools.at(Unseen::device).at("hopper").front().error), 0.15)
        << "nothing is known of Hopper";
}

TEST(UnseenErrors, AreTheSameOnAnyNumberOfThreads) {
    const UnseenErrors one = unseen_errors(fitted_steps(), other_steps(), 1);
    const UnseenErrors many = unseen_errors(fitted_steps(), other_steps(), 4);
    EXPECT_EQ(one.pools, many.pools);
    EXPECT_EQ(one.families, many.families);
}

TEST(SetResiduals, WritesASpreadForEachKindAndWhatWasSeen) {
    const std::vector<StepSample> fitted = fitted_steps();
    UnseenErrors errors = unseen_errors(fitted, other_steps());
    EXPECT_FALSE(errors.pools.contains(Unseen::experts)) << "no sample has any";
    for (const char* family : {"l", "m", "n", "o", "p"}) {
        errors.pools[Unseen::experts].merge(unseen_steps({{family, {-0.2, -0.1, -0.3}}}));
    }
    EfficiencyTable table;
    set_residuals(fitted, errors, table);
    const auto value = [&](const char* name) { return table.find(name, "ampere", "fp16")->value; };
    EXPECT_GT(value("step.residual.software"), value("step.residual"));
    EXPECT_GT(value("step.residual.lineage"), value("step.residual.software"));
    EXPECT_GT(value("step.residual.device"), 0);
    const StepSpread lineage = spreads_of(errors.pools).at(Unseen::lineage);
    EXPECT_EQ(value("step.residual.lineage"), lineage.sigma);
    EXPECT_EQ(value("step.shift.lineage"), lineage.shift);
    EXPECT_EQ(value("step.shift.doubling"), lineage.shift_doubling);
    EXPECT_EQ(value("step.residual.doubling"), lineage.sigma_doubling);
    EXPECT_NEAR(value("step.shift.experts"), 0.2, 1e-12);
    EXPECT_NEAR(
        value("step.residual.experts"), student_over_normal(4) * 0.1 / kQuantile95, 1e-12);
    EXPECT_EQ(table.find("step.shift.nothing", "ampere", "fp16"), nullptr);
    EXPECT_EQ(table.find("step.seen.nemo", "ampere", "fp16")->value, 2);
    EXPECT_EQ(table.find("step.seen.composer", "hopper", "fp16")->value, 1);
    EXPECT_EQ(table.find("step.seen.nemo", "hopper", "fp16"), nullptr);
    EXPECT_EQ(table.find("step.seen.three", "ampere", "fp16"), nullptr);
}

TEST(UnseenCases, AreThoseThatTellOfSomethingUnseen) {
    const Catalogue catalogue{ORRERY_SOURCE_DIR "/scenarios/catalogue"};
    const auto rows =
        read_published_cases(ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training.csv");
    ASSERT_TRUE(rows);
    PublishedCase seen = rows->front();  // on A100
    seen.stack = "nemo-25.02";
    PublishedCase unseen = seen;
    unseen.stack = "other";
    PublishedCase mixture = unseen;
    mixture.token_dispatcher = "pigeon";  // is not expressible
    const auto found =
        unseen_cases({seen, unseen, mixture}, {step("a", "nemo", "ampere", 1.0)}, catalogue);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found.front().stack, "other");
}

}  // namespace
}  // namespace orrery
