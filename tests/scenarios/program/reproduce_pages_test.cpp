// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/reproduce_pages.h"

#include <gtest/gtest.h>

#include <fstream>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/reproduce.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

ReproduceArguments pages_in(const std::string& folder) {
    ReproduceArguments arguments;
    arguments.names = {"holmes", "selective-recomputation"};
    arguments.html_file = folder;
    return arguments;
}

TEST(ReproducePages, AFolderGetsAPageForEachSystem) {
    const TestFolder folder;
    const ReproduceArguments arguments = pages_in((folder / "museum").string() + "/");
    const CommandRun run = run_command([&] { return reproduce_command(arguments); });
    ASSERT_EQ(run.status, kExitOk) << run.err;
    const std::string holmes = folder.text("museum/holmes.html");
    EXPECT_NE(holmes.find("from ethernet to ib"), std::string::npos);
    EXPECT_EQ(holmes.find("175b-full"), std::string::npos) << "of another system";
    const std::string other = folder.text("museum/selective-recomputation.html");
    EXPECT_NE(other.find("from 175b-full to 175b-selective"), std::string::npos);
    const std::string index = folder.text("museum/index.html");
    EXPECT_NE(index.find("holmes"), std::string::npos);
    EXPECT_NE(index.find("selective-recomputation"), std::string::npos);
}

TEST(ReproducePages, APlaceThatCannotBeWrittenIsAnErrorBeforeTheWork) {
    const TestFolder folder;
    std::ofstream(folder / "file") << "no folder";
    const ReproduceArguments arguments = pages_in((folder / "file").string() + "/");
    const CommandRun run = run_command([&] { return reproduce_command(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("(hint: choose another folder)"), std::string::npos) << run.err;
    EXPECT_TRUE(names_folder("a/"));
    EXPECT_FALSE(names_folder("a"));
}

}  // namespace
}  // namespace orrery
