// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/diff.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/simulate.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

const std::string kLaptop = ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml";

nlohmann::json diff_of(DiffArguments arguments) {
    arguments.json = true;
    const CommandRun run = run_command([&] { return diff_command(arguments); });
    EXPECT_EQ(run.status, kExitOk) << run.err;
    return nlohmann::json::parse(run.out, nullptr, false);
}

TEST(DiffCommand, OfAScenarioAndItsChange) {
    DiffArguments arguments;
    arguments.before = arguments.after = kLaptop;
    EXPECT_TRUE(diff_of(arguments)["keys"].empty());
    arguments.overrides = {"plan.micro_batch_size=8"};
    arguments.run = true;
    const auto json = diff_of(arguments);
    ASSERT_EQ(json["keys"].size(), 1u);
    EXPECT_EQ(json["keys"][0]["key"], "plan.micro_batch_size");
    EXPECT_EQ(json["keys"][0]["after"], "8");
    EXPECT_EQ(json["after"], kLaptop + " --set plan.micro_batch_size=8");
    EXPECT_GT(json["step"]["peak_memory_bytes"]["change"], 0);
    EXPECT_GT(json["step"]["iteration_s"]["before"], 0);
}

TEST(DiffCommand, OfTwoResultsNamesFiguresAndKeys) {
    const TestFolder folder;
    std::vector<std::string> files;
    for (const char* size : {"4", "8"}) {
        SimulateArguments simulate;
        simulate.file = kLaptop;
        simulate.overrides = {std::string{"plan.micro_batch_size="} + size};
        simulate.json = true;
        const CommandRun run = run_command([&] { return simulate_command(simulate); });
        files.push_back(folder.write(std::string{size} + ".json", run.out));
    }
    DiffArguments arguments;
    arguments.before = files[0];
    arguments.after = files[1];
    const auto json = diff_of(arguments);
    EXPECT_EQ(json["keys"].size(), 1u) << json["keys"];
    bool found = false;
    for (const auto& figure : json["figures"]) {
        found = found || figure["key"] == "iteration_s";
        EXPECT_NE(figure["key"], "wall_s");
    }
    EXPECT_TRUE(found);
    arguments.after = kLaptop;
    EXPECT_EQ(run_command([&] { return diff_command(arguments); }).status, kExitUserError);
    arguments.after = folder.write("torn.json", folder.text("8.json").substr(0, 1000));
    const CommandRun torn = run_command([&] { return diff_command(arguments); });
    EXPECT_NE(torn.err.find("torn.json:"), std::string::npos) << torn.err;
    EXPECT_NE(torn.err.find("not valid JSON"), std::string::npos) << torn.err;
}

}  // namespace
}  // namespace orrery
