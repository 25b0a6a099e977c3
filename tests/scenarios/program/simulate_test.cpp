// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

const std::string kLaptop = ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml";

CommandRun simulate(const SimulateArguments& arguments) {
    return run_command([&] { return simulate_command(arguments); });
}

TEST(SimulateCommand, PrintsAReportOrOneJsonObject) {
    SimulateArguments arguments;
    arguments.file = kLaptop;
    const CommandRun report = simulate(arguments);
    EXPECT_EQ(report.status, kExitOk);
    EXPECT_EQ(report.err, "");
    EXPECT_EQ(report.out.substr(0, 12), "laptop-2gpu\n");
    arguments.json = true;
    const CommandRun json = simulate(arguments);
    EXPECT_EQ(json.status, kExitOk);
    EXPECT_TRUE(nlohmann::json::parse(json.out, nullptr, false).is_object());
}

TEST(SimulateCommand, ToldTwiceItSaysTheSame) {
    SimulateArguments arguments;
    arguments.file = kLaptop;
    arguments.json = true;
    auto first = nlohmann::json::parse(simulate(arguments).out);
    auto second = nlohmann::json::parse(simulate(arguments).out);
    for (auto* json : {&first, &second}) {
        json->erase("wall_s");
        json->erase("peak_rss_bytes");
    }
    EXPECT_EQ(first, second);
}

TEST(SimulateCommand, AllErrorsOfTheFileAndOfOverridesComeAtOnce) {
    const TestFolder folder;
    SimulateArguments arguments;
    arguments.file = folder.write("s.yaml", "cluster: {nodes: x, node: dgx-h100}\nmodle: y\n");
    arguments.overrides = {"plan.micro_batch_size=0"};
    arguments.trace_file = (folder / "trace").string();
    const CommandRun run = simulate(arguments);
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_EQ(run.out, "");
    EXPECT_GE(std::count(run.err.begin(), run.err.end(), '\n'), 4) << run.err;
    for (const char* text : {"s.yaml:1:18: error: cluster.nodes",
                             "s.yaml:2:1: error: unknown key",
                             "--set plan.micro_batch_size: error: "}) {
        EXPECT_NE(run.err.find(text), std::string::npos) << text << "\n" << run.err;
    }
    EXPECT_EQ(folder.num_files(), 1U);
}

TEST(SimulateCommand, WritesATraceBesideTheAnswer) {
    const TestFolder folder;
    SimulateArguments arguments;
    arguments.file = kLaptop;
    arguments.trace_file = (folder / "trace").string();
    EXPECT_EQ(simulate(arguments).status, kExitOk);
    EXPECT_GT(std::filesystem::file_size(folder / "trace"), 1'000U);
    EXPECT_EQ(folder.num_files(), 1U);
    arguments.trace_file = (folder / "no/trace").string();
    const CommandRun refused = simulate(arguments);
    EXPECT_EQ(refused.status, kExitUserError);
    EXPECT_EQ(refused.out, "");
    arguments.trace_file = "/dev/full";
    EXPECT_EQ(simulate(arguments).status, kExitUserError);
}

}  // namespace
}  // namespace orrery
