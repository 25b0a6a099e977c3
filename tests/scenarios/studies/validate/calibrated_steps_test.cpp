// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/calibrated_steps.h"

#include <gtest/gtest.h>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/studies/validate/step_validation.h"

namespace orrery {
namespace {

TEST(CalibratedSteps, MakeACalibrationOfTheFirstDraw) {
    const auto all =
        read_published_cases(ORRERY_SOURCE_DIR "/scenarios/catalogue/published/training_more.csv");
    ASSERT_TRUE(all);
    std::vector<PublishedCase> cases;
    for (const PublishedCase& row : *all) {
        if (row.family == "torchtune-3b") {
            cases.push_back(row);
        }
    }
    const auto control = fitted_control(default_catalogue());
    ASSERT_TRUE(control);
    const Validation validation = validate_steps(
        cases,
        *control,
        {.catalogue = default_catalogue(), .step_table = {}, .progress = [](double) {}});
    double share = 0;
    CalibratedStepsOptions options{
        .table = "t.csv", .given = 2, .draws = 1, .progress = [&](double done) { share = done; }};
    const auto plain = calibrate_with_steps(cases, validation, options);
    ASSERT_TRUE(plain) << plain.error().to_string();
    EXPECT_EQ(plain->calibration, "");
    EXPECT_EQ(share, 1);
    options.make_calibration = true;
    const auto made = calibrate_with_steps(cases, validation, options);
    ASSERT_TRUE(made) << made.error().to_string();
    EXPECT_NE(made->calibration.find("Made of 2 steps of torchtune-3b by: orrery validate t.csv"),
              std::string::npos)
        << made->calibration;
    EXPECT_EQ(made->validation.drawn, plain->validation.drawn);
}

}  // namespace
}  // namespace orrery
