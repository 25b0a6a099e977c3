// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/init.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/scenarios/test_folder.h"

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

TEST(InitCommand, UnknownNamesAndMissingOnesAreErrors) {
    const TestFolder folder;
    const auto status = [&](const InitArguments& arguments) {
        return run_command([&] { return init_command(arguments); });
    };
    const CommandRun unknown = status({.file = (folder / "a.yaml").string(),
                                       .scenario = {.model = "llama-3-9b", .node = "dgx-h100"}});
    EXPECT_EQ(unknown.status, kExitUserError);
    EXPECT_NE(unknown.err.find("llama-3-8b"), std::string::npos) << unknown.err;
    EXPECT_EQ(
        status({.file = (folder / "b.yaml").string(), .scenario = {.model = "llama-3-8b"}}).status,
        kExitUserError);
    EXPECT_EQ(folder.num_files(), 0u);
}

}  // namespace
}  // namespace orrery
