// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/common_options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/program/spelling.h"
#include "scenarios/report/render/terminal.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

TEST(CommonOptions, AnOptionOfTheCommandStandsForTheGeneralOne) {
    bool own = false;
    Command command{.name = "x", .options = {{"-q,--quiet", &own, "Own"}}};
    add_general_options(command);
    const auto quiet = [](const CommandOption& option) { return option.names == "-q,--quiet"; };
    EXPECT_EQ(std::ranges::count_if(command.options, quiet), 1);
    EXPECT_EQ(command.options.size(), 4u);
}

// Every option of this name means the same in every command.
TEST(CommonOptions, OneWordIsOneThing) {
    for (const Command& command : all_commands()) {
        for (const CommandOption& option : command.options) {
            for (const std::string& flag : flags_of(option)) {
                EXPECT_FALSE(option.now.empty() && (flag == "--threads" || flag == "--results" ||
                                                    flag == "--write" || flag == "--store"))
                    << command.name;
                EXPECT_FALSE(flag == "-j" && option.names != "-j,--jobs") << command.name;
                EXPECT_FALSE(flag == "-o" && option.names != "-o,--output") << command.name;
            }
        }
    }
}

TEST(CommonOptions, AnOldSpellingNamesTheNewOne) {
    std::string file;
    const CommandOption old = old_option("--write", "--output", output_option(file, "Write", true));
    EXPECT_FALSE(old.required);
    const CommandRun run = run_command([&] {
        note_old_spelling(old);
        return 0;
    });
    EXPECT_NE(run.err.find("--write is now --output"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace orrery
