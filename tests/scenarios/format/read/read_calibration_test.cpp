// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_calibration.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(ReadCalibration, ReadsTheTextThatIsWritten) {
    Calibration facts;
    facts.name = "mine";
    facts.software = "torchtitan";
    facts.generation = "hopper";
    facts.precision = "fp8";
    facts.steps = 3;
    facts.products = 1.25;
    facts.host_calls = 0.5;
    facts.step = Time::seconds(0.012);
    facts.spread = 0.06;
    const TestFolder folder;
    const auto read =
        read_calibration(folder.write("mine.yaml", calibration_text(facts, "a test")));
    ASSERT_TRUE(read) << read.error().front().what;
    EXPECT_EQ(read->software, "torchtitan");
    EXPECT_EQ(read->precision, "fp8");
    EXPECT_EQ(read->steps, 3);
    EXPECT_EQ(read->products, 1.25);
    EXPECT_EQ(read->host_calls, 0.5);
    EXPECT_EQ(read->communication, 1);
    EXPECT_EQ(read->step, Time::seconds(0.012));
    EXPECT_EQ(read->spread, 0.06);
}

TEST(ReadCalibration, TellsAllMistakesAtOnce) {
    const TestFolder folder;
    const auto read = read_calibration(
        folder.write("bad.yaml", "kind: calibration\nsoftware: x\nproducts: 9999\nfoo: 1\n"));
    ASSERT_FALSE(read);
    ASSERT_EQ(read.error().size(), 4U);  // products, foo, generation, precision
}

TEST(ReadCalibration, RefusesOtherFiles) {
    const auto read = read_calibration(ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml");
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().front().what.find("a calibration is due"), std::string::npos);
    EXPECT_FALSE(read_calibration("/nowhere/none.yaml"));
}

TEST(ReadCalibration, TheStepTableHasItsRows) {
    const TestFolder folder;
    Calibration facts;
    facts.software = "nemo";
    facts.generation = "hopper";
    facts.precision = "fp16";
    facts.products = 1.5;
    const auto plain = read_step_table({});
    const auto table =
        read_step_table(folder.write("mine.yaml", calibration_text(facts, "a test")));
    ASSERT_TRUE(plain && table);
    const CalibrationFactor& products = calibration_factor("products");
    EXPECT_EQ(calibrated_factor(*plain, products, "hopper"), 1);
    EXPECT_EQ(calibrated_factor(*table, products, "hopper"), 1.5);
}

}  // namespace
}  // namespace orrery
