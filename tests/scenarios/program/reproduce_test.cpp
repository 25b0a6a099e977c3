// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/reproduce.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

CommandRun reproduced(const ReproduceArguments& arguments) {
    return run_command([&] { return reproduce_command(arguments); });
}

ReproduceArguments of(const std::vector<std::string>& names) {
    ReproduceArguments arguments;
    arguments.names = names;
    arguments.jobs = 2;
    return arguments;
}

TEST(ReproduceCommand, PrintsTheRoomAndWritesAPage) {
    const TestFolder folder;
    ReproduceArguments arguments = of({"holmes"});
    arguments.html_file = (folder / "museum.html").string();
    arguments.csv_file = (folder / "museum.csv").string();
    const CommandRun run = reproduced(arguments);
    EXPECT_EQ(run.status, kExitOk) << run.err;
    EXPECT_NE(run.out.find("  InfiniBand over"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("holmes: InfiniBand over Ethernet, from ethernet to ib"),
              std::string::npos)
        << run.out;
    EXPECT_NE(folder.text("museum.html").find("RoCE over InfiniBand"), std::string::npos);
    EXPECT_NE(folder.text("museum.csv").find("holmes,RoCE over InfiniBand"), std::string::npos);
}

TEST(ReproduceCommand, PrintsJsonWithItsProvenance) {
    ReproduceArguments arguments = of({"holmes"});
    arguments.json = true;
    const CommandRun run = reproduced(arguments);
    ASSERT_EQ(run.status, kExitOk) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["reproductions"][0]["name"], "holmes");
    EXPECT_EQ(json["provenance"]["command"], "reproduce");
}

TEST(ReproduceCommand, ListsTheRooms) {
    ReproduceArguments arguments = of({});
    arguments.list = true;
    const CommandRun run = reproduced(arguments);
    EXPECT_EQ(run.status, kExitOk);
    EXPECT_NE(run.out.find("holmes"), std::string::npos);
    EXPECT_NE(run.out.find("Megatron-LM, weak scaling"), std::string::npos) << run.out;
}

TEST(ReproduceCommand, AnUnknownRoomIsAnError) {
    const CommandRun run = reproduced(of({"holms"}));
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("did you mean 'holmes'?"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace orrery
