// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/import_words.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "scenarios/report/render/terminal.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

TEST(ImportWords, NotesAreQuietWhereNothingIsToBeSaid) {
    const auto note = [] {
        return run_command([] {
            note_each("left out", {"a", "b"});
            return 0;
        });
    };
    EXPECT_EQ(note().err, "left out: a\nleft out: b\n");
    terminal().quiet = true;
    const CommandRun quiet = note();
    terminal() = {};
    EXPECT_EQ(quiet.err, "");
}

TEST(ImportWords, NumbersOfANodeComeFromTheCatalogue) {
    EXPECT_EQ(gpus_of_node("dgx-h100"), 8u);
    EXPECT_EQ(number_of_node("dgx-h100", "trays", 1), 1u);
    EXPECT_EQ(number_of_node("no-such-node", "gpus_per_node", 3), 3u);
    ImportArguments arguments{.format = "hf", .words = {"a", "b"}};
    EXPECT_FALSE(imported_file(arguments));
    EXPECT_EQ(fabric_of_import(arguments), "ndr400-rail");
    arguments.output = "-";
    EXPECT_EQ(run_command([&] { return write_imported(arguments, "text\n"); }).out, "text\n");
}

}  // namespace
}  // namespace orrery
