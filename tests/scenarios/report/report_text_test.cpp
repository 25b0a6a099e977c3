// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/report.h"

namespace orrery {
namespace {

Report sample_report() {
    Report report{.title = "small", .lines = {"one job"}, .footer = "end"};
    report.cards = {{"1.50 s", "step"}, {"90 GiB", "memory", true}};
    ReportSection times{.title = "By size", .note = "a note"};
    times.table.columns = {{"what | which"}, {"time", Unit::seconds}, {"share", Unit::share}};
    times.table.rows = {{"a, b", Time::seconds(1.5), 0.25}, {"c", Cell{}, 1.0}};
    report.sections = {
        {.title = "Bars", .bars = {{"all", "100 %", "", 1}, {"half", "50 %", "", 1, 0.5}}},
        {.title = "Picture", .heat = {{"row", {0.5}}}},
        times};
    return report;
}

TEST(ReportText, ShowsFiguresBarsAndTables) {
    const std::string bar = [] {
        std::string text;
        for (int i = 0; i < 42; ++i) {
            text += "█";
        }
        return text;
    }();
    EXPECT_EQ(to_text(sample_report()),
              "small\n\n  one job\n\n"
              "  step    1.50 s\n"
              "  memory  ! 90 GiB\n"
              "\nBars\n\n"
              "  all   100 %    " +
                  bar +
                  "\n"
                  "  half   50 %    " +
                  std::string(21, ' ') + bar.substr(bar.size() / 2) +
                  "\n"
                  "\nPicture\n\n"
                  "  row         ▒▒     \n"
                  "\nBy size\n\n"
                  "  what | which    time    share\n"
                  "  a, b          1.50 s   25.0 %\n"
                  "  c                     100.0 %\n"
                  "  a note\n"
                  "\nend\n");
}

TEST(ReportText, MarkdownHasTheSameTables) {
    const std::string text = to_markdown(sample_report());
    EXPECT_NE(text.find("# small\n\none job\n"), std::string::npos) << text;
    EXPECT_NE(text.find("| figure | value |\n|---|---:|\n| step | 1.50 s |\n"), std::string::npos);
    EXPECT_NE(text.find("| what \\| which | time | share |\n|---|---:|---:|\n"
                        "| a, b | 1.50 s | 25.0 % |\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("Picture"), std::string::npos);
}

TEST(ReportText, CsvHasUnitsAndTheValuesThemselves) {
    EXPECT_EQ(to_csv(sample_report()), "what | which,time [s],share\n\"a, b\",1.5,0.25\nc,,1\n");
    Report report = sample_report();
    report.result.columns = {{"gpus", Unit::count}, {"memory", Unit::bytes}};
    report.result.rows = {{8, Bytes{1024}}};
    EXPECT_EQ(to_csv(report), "gpus,memory [bytes]\n8,1024\n");
}

}  // namespace
}  // namespace orrery
