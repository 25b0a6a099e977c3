// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/drill_report.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

const Incident kStop{
    .what = ObservationKind::fault_detected,
    .step = 17,
    .actions = {{.kind = ActionKind::evict, .node = 2}, {.kind = ActionKind::restart}},
    .resumed_step = 10,
    .begin_us = 0,
    .end_us = 500'000};

TEST(DrillReport, TellsHowManyStopsWereForetold) {
    Scenario scenario;
    scenario.job.drill = true;
    SupervisedRun run;
    run.interruptions = {{.told_us = 0, .detect_s = 0.25}};
    const std::string same = drill_report(scenario, run, {kStop}, {kStop}, {{17, 0.15}});
    EXPECT_NE(same.find("measured   after step 17, resumed from 10, 7 lost: seen after 0.25 s, "
                        "training 0.500 s later"),
              std::string::npos)
        << same;
    EXPECT_NE(same.find("predicted  after step 17, resumed from 10, 7 lost: seen after 0.15 s, "
                        "training 0.500 s later"),
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
