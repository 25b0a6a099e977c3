// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/common_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "scenarios/program/exit_status.h"
#include "scenarios/report/terminal.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

TEST(CommonOptions, JsonIsShortForItsForm) {
    ViewArguments views;
    EXPECT_EQ(output_format(views).value(), OutputFormat::table);
    views.json = true;
    EXPECT_EQ(output_format(views).value(), OutputFormat::json);
    views.format = "md";
    EXPECT_FALSE(output_format(views));
    views.json = false;
    EXPECT_EQ(output_format(views).value(), OutputFormat::md);
    views.format = "xml";
    EXPECT_EQ(output_format(views).error().hint, "one of table, json, csv, md");
}

TEST(CommonOptions, AnOptionOfTheCommandStandsForTheGeneralOne) {
    bool own = false;
    Command command{.name = "x", .options = {{"-q,--quiet", &own, "Own"}}};
    add_general_options(command);
    const auto quiet = [](const CommandOption& option) { return option.names == "-q,--quiet"; };
    EXPECT_EQ(std::ranges::count_if(command.options, quiet), 1);
    EXPECT_EQ(command.options.size(), 4u);
}

TEST(CommonOptions, ACommandWithJsonHasFormatToo) {
    bool json = false;
    Command command{.name = "x", .options = {{"--json", &json, "Json"}}};
    command.run = [&] { return json ? 7 : 8; };
    add_format_option(command);
    std::string& format = *std::get<std::string*>(command.options.front().target);
    EXPECT_EQ(command.run(), 8);
    format = "csv";
    EXPECT_EQ(run_command(command.run).status, kExitUserError);
    format = "json";
    EXPECT_EQ(command.run(), 7);
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
