// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/run_study.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/program/exit_status.h"
#include "scenarios/report/render/terminal.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

StudyOutput small_output() {
    Report report{.title = "small"};
    report.result.columns = {{"time", Unit::seconds}};
    report.result.rows = {{1.5}};
    return {.report = report, .json = "{\"a\": 1}", .provenance = provenance_of("test")};
}

CommandRun run_small(const ViewArguments& views) {
    return run_command([&] {
        return run_study(views, "s.yaml", "testing", [](const auto&) {
            return ResultOrErrors<StudyOutput>{small_output()};
        });
    });
}

TEST(RunStudy, PrintsEachForm) {
    EXPECT_EQ(run_small({}).out, "small\n");
    EXPECT_EQ(run_small({.format = "csv"}).out, "time [s]\n1.5\n");
    EXPECT_EQ(run_small({.format = "md"}).out, "# small\n");
    const auto json = nlohmann::json::parse(run_small({.json = true}).out);
    EXPECT_EQ(json["a"], 1);
    EXPECT_EQ(json["provenance"]["command"], "test");
    EXPECT_EQ(run_small({.format = "xml"}).status, kExitUserError);
}

TEST(RunStudy, WritesItsViews) {
    const TestFolder folder;
    ViewArguments views;
    views.html_file = (folder / "page.html").string();
    views.csv_file = (folder / "table.csv").string();
    EXPECT_EQ(run_small(views).status, kExitOk);
    EXPECT_EQ(folder.text("table.csv"), "time [s]\n1.5\n");
    EXPECT_NE(folder.text("page.html").find("\"title\":\"small\""), std::string::npos);
    EXPECT_EQ(folder.num_files(), 2u);
}

TEST(RunStudy, AnUnwritablePlaceIsToldBeforeTheStudyAndErrorsHaveAPlace) {
    bool ran = false;
    const auto run = [&](const ViewArguments& views) {
        return run_command([&] {
            return run_study(views, "s.yaml", "testing", [&](const auto&) {
                ran = true;
                return ResultOrErrors<StudyOutput>{
                    unexpected<Errors>(Errors{{"", "is wrong", "hint"}})};
            });
        });
    };
    EXPECT_EQ(run({.csv_file = "/no/such/x.csv"}).status, kExitUserError);
    EXPECT_FALSE(ran);
    EXPECT_EQ(run({}).err, "s.yaml: error: is wrong (hint: hint)\n");
}

TEST(RunStudy, AVerboseRunSaysWhatItWrote) {
    const TestFolder folder;
    terminal().verbose = true;
    const CommandRun run = run_small({.csv_file = (folder / "t.csv").string()});
    terminal() = {};
    EXPECT_NE(run.err.find("orrery: testing s.yaml took "), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("orrery: wrote "), std::string::npos) << run.err;
}

}  // namespace
}  // namespace orrery
