// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/init.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/spelling.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(InitCommand, WritesAScenarioThatIsRight) {
    const TestFolder folder;
    const InitArguments arguments{
        .file = (folder / "my.yaml").string(),
        .scenario = {
            .model = "llama-3-70b", .node = "dgx-h100", .nodes = 16, .tensor = 8, .pipeline = 4}};
    EXPECT_EQ(run_command([&] { return init_command(arguments); }).status, kExitOk);
    const auto scenario = read_scenario(arguments.file);
    ASSERT_TRUE(scenario) << scenario.error().front().to_string();
    EXPECT_EQ(scenario->plan.data_parallel_size, 4);
    EXPECT_EQ(scenario->plan.global_batch_size, 64);
    EXPECT_EQ(scenario->cluster.num_ranks(), 128);
    const CommandRun again = run_command([&] { return init_command(arguments); });
    EXPECT_EQ(again.status, kExitUserError);
    EXPECT_NE(again.err.find("is there already"), std::string::npos) << again.err;
}

TEST(InitCommand, WritesToStandardOutputWithoutOrWithTheOption) {
    const CommandRun run = run_command(
        [] { return init_command({.scenario = {.model = "llama-3-8b", .node = "dgx-h100"}}); });
    EXPECT_EQ(run.status, kExitOk);
    EXPECT_NE(run.out.find("kind: scenario"), std::string::npos) << run.out;
    EXPECT_EQ(run.err, "");  // no file that a next command could be shown
    const std::vector<Command> commands = all_commands();
    const auto command = std::ranges::find(commands, "init", &Command::name);
    ASSERT_NE(command, commands.end());
    EXPECT_EQ(usage_of(*command), "orrery init [OPTIONS]");
    EXPECT_EQ(command->options[0].names, "-o,--output");
    EXPECT_EQ(command->options[1].names, "file");  // works for one more release
    EXPECT_EQ(command->options[1].now, "--output");
}

TEST(InitCommand, UnknownNamesAndMissingOnesAreErrors) {
    const TestFolder folder;
    const auto status = [&](const InitArguments& arguments) {
        return run_command([&] { return init_command(arguments); });
    };
    const CommandRun unknown = status({.file = (folder / "a.yaml").string(),
                                       .scenario = {.model = "llama-3-9b", .node = "dgx-h100"}});
    EXPECT_EQ(unknown.status, kExitUserError);
    EXPECT_NE(unknown.err.find("llama-3-8b"), std::string::npos) << unknown.err;
    const auto missing = [&](FirstScenario given) {
        return status({.file = (folder / "b.yaml").string(), .scenario = std::move(given)}).err;
    };
    EXPECT_NE(missing({.model = "llama-3-8b"}).find("a server is missing"), std::string::npos);
    EXPECT_NE(missing({.node = "dgx-h100"}).find("a model is missing"), std::string::npos);
    const CommandRun at_folder = status({.file = folder.path().string(),
                                         .scenario = {.model = "llama-3-8b", .node = "dgx-h100"},
                                         .overwrite = true});
    EXPECT_EQ(at_folder.status, kExitUserError);
    EXPECT_NE(at_folder.err.find("is a folder"), std::string::npos) << at_folder.err;
    EXPECT_EQ(folder.num_files(), 0u);
}

}  // namespace
}  // namespace orrery
