// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/fault_note.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/program/campaign.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/network.h"
#include "scenarios/program/simulate.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

const std::string kFaults =
    "faults=[{t: 3 d, at: \"node:0\", kind: gpu_lost}, "
    "{process: exponential, kind: gpu_lost, mtbf: 50000 h}]";

// One line on standard error, and the report as ever.
void expect_note(const CommandRun& run, const std::string& why) {
    EXPECT_NE(run.err.find("orrery: faults left out: faults["), std::string::npos) << run.err;
    EXPECT_NE(run.err.find(why), std::string::npos) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_FALSE(run.out.empty());
}

TEST(FaultNote, CommandsThatDoNotUseAFaultSaySo) {
    NetworkArguments network;
    network.file = ORRERY_SOURCE_DIR "/scenarios/network-clos-64.yaml";
    network.sizes = "1MiB";
    network.overrides = {kFaults};
    expect_note(run_command([&] { return network_command(network); }), "no training step");
    CampaignArguments campaign;
    campaign.file = ORRERY_SOURCE_DIR "/scenarios/recovery-plans.yaml";
    campaign.overrides = {"campaign.step_time=9 s",
                          "campaign.seeds=1",
                          "campaign.days=1",
                          "faults=[{time: 1 s, at: \"node:0\", kind: gpu_lost}]"};
    expect_note(run_command([&] { return campaign_command(campaign); }), "one step");
}

TEST(FaultNote, ASimulatedStepSaysSoInItsReportAndJson) {
    SimulateArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml";
    arguments.overrides = {kFaults};
    const CommandRun report = run_command([&] { return simulate_command(arguments); });
    EXPECT_EQ(report.status, kExitOk) << report.err;
    EXPECT_NE(report.out.find("\n  faults left out: faults[0] (gpu_lost, t), faults[1] "
                              "(gpu_lost, process): they come over weeks"),
              std::string::npos)
        << report.out;
    arguments.json = true;
    const CommandRun json = run_command([&] { return simulate_command(arguments); });
    EXPECT_NE(json.out.find("\"entry\": \"faults[1]\""), std::string::npos) << json.out;
    arguments.overrides.clear();
    const CommandRun healthy = run_command([&] { return simulate_command(arguments); });
    EXPECT_EQ(healthy.out.find("faults_left_out"), std::string::npos);
}

}  // namespace
}  // namespace orrery
