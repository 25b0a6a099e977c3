// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/specs/calibration.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(CalibrationFacts, ChangeOnlyTheirGeneration) {
    Calibration facts;
    facts.generation = "hopper";
    facts.software = "nemo";
    facts.precision = "fp16";
    facts.communication = 2;
    facts.step = Time::seconds(0.25);
    facts.spread = 0.07;
    EfficiencyTable table;
    apply_calibration(facts, table);
    const CalibrationFactor& communication = calibration_factor("communication");
    EXPECT_EQ(calibrated_factor(table, communication, "hopper"), 2);
    EXPECT_EQ(calibrated_factor(table, communication, "ampere"), 1);
    EXPECT_EQ(calibrated_step(table, "hopper"), Time::seconds(0.25));
    EXPECT_EQ(calibrated_step(table, "ampere"), Time{});
    EXPECT_EQ(table.value_or("calibration.spread.nemo", "hopper", "fp16", 0), 0.07);
}

TEST(CalibrationFacts, AreNeutralWithoutACalibration) {
    for (const CalibrationFactor& factor : kCalibrationFactors) {
        EXPECT_EQ(calibrated_factor(EfficiencyTable{}, factor, "hopper"), 1) << factor.name;
        EXPECT_EQ(Calibration{}.*factor.member, 1) << factor.name;
    }
}

}  // namespace
}  // namespace orrery
