// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/show_output.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

StudyOutput tiny_output() {
    Report report{.title = "tiny"};
    report.result.columns = {{"time", Unit::seconds}};
    report.result.rows = {{1.5}};
    return {.report = report,
            .json = {},
            .provenance = provenance_of("test"),
            .product = "the product\n",
            .status = kExitFinding};
}

CommandRun show_tiny(const ViewArguments& views) {
    return run_command([&] { return show_output(views, tiny_output()); });
}

TEST(ShowOutput, WithoutAJsonOfItsOwnTheReportIsTheJson) {
    const CommandRun run = show_tiny({.format = "json"});
    EXPECT_EQ(run.status, kExitFinding);
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["title"], "tiny");
    EXPECT_EQ(json["provenance"]["command"], "test");
}

TEST(ShowOutput, AProductOnStandardOutputStandsAlone) {
    EXPECT_EQ(show_tiny({.output = "-"}).out, "the product\n");
    const TestFolder folder;
    const CommandRun run = show_tiny({.output = (folder / "p").string()});
    EXPECT_EQ(run.out, "tiny\n");
    EXPECT_EQ(folder.text("p"), "the product\n");
}

TEST(ShowOutput, StandardOutputTakesOneThing) {
    ViewArguments views{.html_file = "-"};
    EXPECT_EQ(show_tiny(views).status, kExitFinding);
    views.json = true;
    const CommandRun run = show_tiny(views);
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(run.err,
              "--html -: error: --json writes to standard output, too (hint: name a file for one "
              "of them)\n");
    EXPECT_EQ(show_tiny({.format = "csv", .html_file = "-"}).status, kExitUserError);
    EXPECT_EQ(show_tiny({.html_file = "-", .csv_file = "-"}).status, kExitUserError);
}

TEST(ShowOutput, AFolderIsNoPlaceForAView) {
    const TestFolder folder;
    const CommandRun run = show_tiny({.html_file = folder.path().string()});
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find(folder.path().string()), std::string::npos) << run.err;
}

}  // namespace
}  // namespace orrery
