// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/calibration_fit.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery {
namespace {

// A step of one second, of these parts, that is predicted well but for a factor on each.
StepResponse made_up_step(double products, double others, double transfers, const Calibration& f) {
    StepResponse step{.predicted_s = 1, .sigma = 0.2, .analytic_s = 1};
    const double parts[] = {products, others, transfers};
    for (std::size_t i = 0; i < 3; ++i) {
        step.curves[i].add(1, 1);
        step.curves[i].add(2, 1 + parts[i]);
    }
    step.measured_s = step.under(f);
    return step;
}

TEST(CalibrationPosterior, FindsTheFactThatIsOff) {
    Calibration truth;
    truth.communication = 2;
    const StepResponse with = made_up_step(0.5, 0.1, 0.4, truth);
    const StepResponse without = made_up_step(0.8, 0.2, 0, truth);
    const StepResponse half = made_up_step(0.65, 0.15, 0.2, truth);
    const std::vector<const StepResponse*> given{&with, &without};
    const CalibrationPosterior posterior{given};
    EXPECT_GT(posterior.mean().communication, 1.5);
    EXPECT_NEAR(posterior.mean().products, 1, 0.1);
    EXPECT_EQ(posterior.mean().steps, 2);
    EXPECT_NEAR(posterior.predict(half).seconds / half.measured_s, 1, 0.03);
}

TEST(CalibrationPosterior, MoreStepsLeaveLessUncertain) {
    Calibration truth;
    truth.products = 1.3;
    truth.element_wise = 1.3;
    truth.communication = 1.3;
    const StepResponse a = made_up_step(0.5, 0.2, 0.3, truth);
    const StepResponse b = made_up_step(0.7, 0.2, 0.1, truth);
    const StepResponse c = made_up_step(0.4, 0.2, 0.4, truth);
    const std::vector<const StepResponse*> one{&a};
    const std::vector<const StepResponse*> two{&a, &b};
    const auto after_one = CalibrationPosterior{one}.predict(c);
    const auto after_two = CalibrationPosterior{two}.predict(c);
    EXPECT_LT(after_two.sigma, after_one.sigma);
    EXPECT_LT(after_one.sigma, 0.2);
    EXPECT_GE(after_two.sigma, kStepSpreadLeast);
    EXPECT_NEAR(after_one.seconds / c.measured_s, 1, 0.1);
}

// Steps that agree are believed; steps that contradict each other leave the prediction nearer to
// what it was, and the interval wide.
TEST(CalibrationPosterior, StepsTellHowAlikeTheyAre) {
    const auto slower = [](double times) {
        Calibration truth;
        truth.products = times;
        truth.element_wise = times;
        return made_up_step(0.7, 0.3, 0, truth);
    };
    const auto after = [&](std::vector<double> times) {
        std::vector<StepResponse> steps;
        for (const double each : times) {
            steps.push_back(slower(each));
        }
        std::vector<const StepResponse*> given;
        for (const StepResponse& step : steps) {
            given.push_back(&step);
        }
        return CalibrationPosterior{given}.predict(slower(1));
    };
    const auto alike = after({1.2, 1.21, 1.19});
    const auto apart = after({1.2, 1.6, 0.9});
    EXPECT_NEAR(alike.seconds, 1.2, 0.03);
    EXPECT_LT(alike.sigma, 0.07);
    EXPECT_GT(apart.sigma, 2 * alike.sigma);
    // One odd step is believed less than its error.
    EXPECT_LT(after({2.0}).seconds, 1.85);
    EXPECT_GT(after({2.0}).seconds, 1.0);
}

TEST(CalibrationDraws, AreDifferentStepsAndAlwaysTheSame) {
    const auto draw = drawn_steps(10, 4, 1, 2, 3);
    EXPECT_EQ(draw, drawn_steps(10, 4, 1, 2, 3));
    EXPECT_NE(draw, drawn_steps(10, 4, 1, 2, 4));
    EXPECT_EQ(std::set<std::size_t>(draw.begin(), draw.end()).size(), 4U);
    EXPECT_EQ(drawn_steps(3, 9, 1, 0, 0).size(), 3U);
}

TEST(ValidateCalibrated, GivesStepsOfEachGroupAndPredictsTheOthers) {
    Calibration truth;
    truth.products = 1.25;
    truth.element_wise = 1.25;
    std::vector<ValidatedCase> rows;
    std::vector<StepResponse> responses;
    std::vector<std::string> groups;
    for (int i = 0; i < 6; ++i) {
        responses.push_back(made_up_step(0.6 + 0.05 * i, 0.4 - 0.05 * i, 0, truth));
        rows.push_back({.name = std::to_string(i),
                        .family = "f",
                        .measured_s = responses.back().measured_s,
                        .predicted_s = 1,
                        .sigma = 0.2});
        groups.push_back(i < 5 ? "one" : "alone");
    }
    const auto found = validate_calibrated(rows, responses, groups, 1, 3, 1);
    ASSERT_EQ(found.families.size(), 1U);
    EXPECT_EQ(found.families[0].steps, 5U);  // a group of one leaves none to predict
    EXPECT_EQ(found.families[0].groups, 1U);
    EXPECT_NEAR(found.before, 0.2, 0.01);
    EXPECT_LT(found.after, 0.05);
    EXPECT_EQ(found.coverage, 1);
    EXPECT_EQ(found.drawn.size(), 2U);
    EXPECT_TRUE(validate_calibrated(rows, responses, groups, 5, 1, 1).families.empty());
}

}  // namespace
}  // namespace orrery
