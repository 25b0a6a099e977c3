// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/drill_report.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

const Incident kStop{.what = "fault_detected",
                     .step = 17,
                     .actions = {"evict node:2", "restart full from remote"},
                     .resumed_step = 10,
                     .begin_us = 0,
                     .end_us = 500'000};

TEST(DrillReport, TellsHowManyStopsWereForetold) {
    Scenario scenario;
    scenario.job.drill = true;
    SupervisedRun run;
    run.interruptions = {{.detect_s = 0.25, .restart_s = 0.5}};
    const std::string same = drill_report(scenario, run, {kStop}, {kStop});
    EXPECT_NE(same.find("measured   after step 17, resumed from 10, 7 lost, 0.50 s"),
              std::string::npos)
        << same;
    EXPECT_NE(same.find("1 of 1 stops as predicted"), std::string::npos);
    Incident other = kStop;
    other.resumed_step = 15;
    const std::string differs = drill_report(scenario, run, {kStop}, {other, other});
    EXPECT_NE(differs.find("0 of 2 stops as predicted"), std::string::npos) << differs;
}

TEST(DrillReport, WithoutADrillThereIsNoPrediction) {
    const std::string text = drill_report({}, {}, {kStop}, {kStop});
    EXPECT_EQ(text.find("predicted"), std::string::npos);
    EXPECT_EQ(drill_report({}, {}, {}, {}), "");
}

}  // namespace
}  // namespace orrery
