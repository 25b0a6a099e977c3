// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/run_comparison.h"

#include <gtest/gtest.h>

#include "scenarios/format/document/json_document.h"
#include "scenarios/program/calibrate.h"
#include "scenarios/program/compare.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/studies/measure/predicted_run.h"
#include "tests/scenarios/made_up_run.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

RunComparison compared(const TestFolder& folder, const std::string& profile = {}) {
    const auto run = read_recorded_run(folder / "run");
    if (!run) {
        ADD_FAILURE() << run.error()[0].to_string();
        return {};
    }
    const auto comparison = compare_run(*run, profile);
    if (!comparison) {
        ADD_FAILURE() << comparison.error().to_string();
        return {};
    }
    return *comparison;
}

TEST(RunComparison, PartsAddUpToTheStepOnBothSides) {
    for (const std::uint32_t ranks : {1u, 2u}) {
        const TestFolder folder;
        write_made_up_run(folder, ranks, 1.3);
        const auto run = read_recorded_run(folder / "run");
        ASSERT_TRUE(run);
        const RunComparison c = compared(folder);
        double measured = 0;
        double predicted = 0;
        for (const ComparedPart& part : c.parts) {
            measured += part.measured_s;
            predicted += part.predicted_s;
            EXPECT_GE(part.measured_s, -1e-12) << part.name;
            EXPECT_GE(part.predicted_s, -1e-12) << part.name;
        }
        double mean = 0;
        const auto best = best_steps(run->steps);
        for (const MeasuredStep* step : best) {
            mean += step->duration().seconds() / static_cast<double>(best.size());
        }
        EXPECT_NEAR(measured, mean, 1e-9 * mean);
        EXPECT_NEAR(measured, c.measured_s, 1e-12);
        EXPECT_NEAR(predicted, predict_run(run->scenario, "")->answer.iteration.seconds(), 1e-12);
        EXPECT_NEAR(c.measured_s / c.predicted_s, 1.3, 0.001);
        EXPECT_NEAR(c.replayed_s / c.predicted_s, 1.3, 0.001);
        EXPECT_EQ(c.undisturbed, 4U);
    }
}

// The planted slowdown goes into the profile, and with it the prediction is the measured step.
TEST(RunComparison, CalibrationRecoversAPlantedSlowdown) {
    for (const std::uint32_t ranks : {1u, 2u}) {
        const TestFolder folder;
        write_made_up_run(folder, ranks, 1.6);
        CalibrateArguments calibrate;
        calibrate.runs = {(folder / "run").string()};
        calibrate.output = (folder / "profile.csv").string();
        const CommandRun run = run_command([&] { return calibrate_command(calibrate); });
        ASSERT_EQ(run.status, kExitOk) << run.err;
        const RunComparison before = compared(folder);
        const RunComparison after = compared(folder, calibrate.output);
        EXPECT_NEAR(before.predicted_s / before.measured_s, 1 / 1.6, 0.01);
        // Predicted ranks wait for the slowest of them, which the made-up run lacks.
        const auto recorded = read_recorded_run(folder / "run");
        ASSERT_TRUE(recorded);
        const auto predicted = predict_run(recorded->scenario, calibrate.output);
        ASSERT_TRUE(predicted);
        double noise_s = 0;
        for (const LostMfu& lost : predicted->answer.lost_mfu) {
            noise_s += lost.cause == Cause::noise ? lost.time.seconds() : 0;
        }
        EXPECT_NEAR((after.predicted_s - noise_s) / after.measured_s, 1.0, 0.01) << ranks;
        for (const ComparedPart& part : after.parts) {
            EXPECT_NEAR(part.predicted_s, part.measured_s, 0.02 * after.measured_s) << part.name;
        }
    }
}

TEST(CompareCommand, PrintsATableOrJsonAndTellsWhatIsWrong) {
    const TestFolder folder;
    write_made_up_run(folder, 2, 1.0);
    CompareArguments arguments;
    arguments.run = (folder / "run").string();
    CommandRun run = run_command([&] { return compare_command(arguments); });
    EXPECT_EQ(run.status, kExitOk) << run.err;
    EXPECT_NE(run.out.find("  2 ranks of a \"made-up\" machine"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("all_reduce on dp"), std::string::npos);
    EXPECT_NE(run.out.find("allocated for tensors"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("2.00 MiB"), std::string::npos) << run.out;
    arguments.json = true;
    run = run_command([&] { return compare_command(arguments); });
    const auto json = parse_json(run.out, "out");
    ASSERT_TRUE(json) << json.error()[0].to_string();
    EXPECT_NE(json->find("measured_s"), nullptr);
    EXPECT_NE(json->find("parts"), nullptr);
    arguments.profile_file = "none.csv";
    run = run_command([&] { return compare_command(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("none.csv"), std::string::npos);
    arguments.run = (folder / "none").string();
    EXPECT_EQ(run_command([&] { return compare_command(arguments); }).status, kExitUserError);
}

}  // namespace
}  // namespace orrery
