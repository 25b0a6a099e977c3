// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/man.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "tests/program/run_program.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(Man, WritesAPageForEachCommandThatManReads) {
    const TestFolder folder;
    EXPECT_EQ(man_command({.folder = (folder / "man1").string()}), kExitOk);
    for (const Command& command : all_commands()) {
        const std::string name = "man1/orrery-" + command.name + ".1";
        const std::string page = folder.text(name);
        for (const char* section : {".TH ", ".SH SYNOPSIS", ".SH OPTIONS", ".SH EXAMPLES"}) {
            EXPECT_NE(page.find(section), std::string::npos) << name << section;
        }
        const Ran read = run_shell(
            "command -v groff >/dev/null || exit 0; "
            "groff -man -Tutf8 -ww -z " +
                name,
            folder.path());
        EXPECT_EQ(read.status, 0) << name << read.err;
        EXPECT_EQ(read.err, "") << name;
    }
    EXPECT_NE(folder.text("man1/orrery.1").find(".BR orrery\\-simulate (1)"), std::string::npos);
}

TEST(Man, AnUnknownCommandIsToldWithTheNearest) {
    const CommandRun run = run_command([] { return man_command({.command = "simulte"}); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("'simulate'"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace orrery
