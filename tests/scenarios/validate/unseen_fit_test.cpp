// SPDX-License-Identifier: Apache-2.0
#include "scenarios/validate/unseen_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scenarios/validate/validation.h"

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
    FamilyErrors errors{{"a", {0.1}}, {"b", {0.1, 0.3}}, {"c", {0.1}}};
    // The others of a and c reach 0.3, those of b 0.1: one of its two steps is within.
    EXPECT_NEAR(left_out_coverage(errors), (1 + 0.5 + 1) / 3, 1e-12);
    EXPECT_EQ(left_out_coverage({}), 0);
}

TEST(UnseenErrors, WidenFromFamilyToSoftwareToDevice) {
    // Two families each of two kinds of software, the second 10 % slower; Hopper 20 % slower still.
    const std::vector<StepSample> fitted{step("a", "one-1", "ampere", 1.0),
                                         step("b", "one-2", "ampere", 1.0),
                                         step("c", "two-1", "ampere", 1.1),
                                         step("d", "two-1", "ampere", 1.1),
                                         step("e", "two-1", "hopper", 1.3),
                                         step("f", "two-1", "hopper", 1.3)};
    const std::vector<StepSample> others{step("g", "three-1", "ampere", 1.4),
                                         step("h", "two-2", "ampere", 2.0),
                                         step("i", "one-1", "blackwell", 1.6)};
    const UnseenErrors errors = unseen_errors(fitted, others);
    EXPECT_EQ(errors.family.size(), 6u);
    EXPECT_TRUE(errors.software.contains("g")) << "no fitted step ran on it";
    EXPECT_FALSE(errors.software.contains("h")) << "its software was fitted on";
    EXPECT_TRUE(errors.device.contains("i"));
    EXPECT_GT(errors.device.at("e").front(), 0.15) << "nothing is known of Hopper";
    EfficiencyTable table;
    set_residuals(fitted, errors, table);
    const auto value = [&](const char* name) { return table.find(name, "ampere", "fp16")->value; };
    EXPECT_GT(value("step.residual"), 0);
    EXPECT_GT(value("step.residual.software"), value("step.residual"));
    EXPECT_GE(value("step.residual.device"), value("step.residual.software"));
    EXPECT_EQ(table.find("step.seen.one", "ampere", "fp16")->value, 2);
    EXPECT_EQ(table.find("step.seen.two", "hopper", "fp16")->value, 2);
    EXPECT_EQ(table.find("step.seen.one", "hopper", "fp16"), nullptr);
    EXPECT_EQ(table.find("step.seen.three", "ampere", "fp16"), nullptr);
}

}  // namespace
}  // namespace orrery
