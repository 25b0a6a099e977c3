// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/search.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

SearchArguments placed(std::int64_t orders) {
    SearchArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/pipette-gpt-a100.yaml";
    arguments.overrides = {"plan.global_batch_size=16", "model.num_layers=8"};
    arguments.place = orders;
    arguments.json = true;
    return arguments;
}

// What -o writes is a scenario whose step takes what the search says.
TEST(SearchPlace, WritesAScenarioWithTheOrder) {
    const TestFolder folder;
    SearchArguments arguments = placed(4);
    arguments.output = (folder.path() / "best.yaml").string();
    const CommandRun run = run_command([&] { return search_command(arguments); });
    ASSERT_EQ(run.status, kExitOk) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["node_order"].size(), 16U);
    EXPECT_LE(json["iteration_s"], json["before_iteration_s"]);
    SearchArguments again;
    again.file = arguments.output;
    again.place = 1;
    again.json = true;
    const CommandRun written = run_command([&] { return search_command(again); });
    ASSERT_EQ(written.status, kExitOk) << written.err;
    EXPECT_EQ(nlohmann::json::parse(written.out)["before_iteration_s"], json["iteration_s"]);
}

TEST(SearchPlace, RefusesOptionsOfOtherSearches) {
    SearchArguments arguments = placed(2);
    arguments.fit = "layers";
    const CommandRun run = run_command([&] { return search_command(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("leave out"), std::string::npos) << run.err;
    SearchArguments packets = placed(2);
    packets.overrides = {"network=packet"};
    EXPECT_EQ(run_command([&] { return search_command(packets); }).status, kExitUserError);
}

}  // namespace
}  // namespace orrery
