// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/report/render/report.h"

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
        {.title = "Picture", .heat = {{"row", {0.5}, {"cell: 7 of 9"}}}},
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
                  "  row         ▒▒    7\n"
                  "\nBy size\n\n"
                  "  what | which    time    share\n"
                  "  a, b          1.50 s   25.0 %\n"
                  "  c                     100.0 %\n"
                  "  a note\n"
                  "\nend\n");
}

TEST(ReportText, FactsAreAlignedAndWrapUnderTheirBegin) {
    Report report{
        .title = "t",
        .facts = {{"model", "gpt"}, {"plan", std::string(60, 'x') + " " + std::string(60, 'y')}}};
    report.cards = {{.value = "1 s", .what = "step", .more = "± 3 %"}};
    EXPECT_EQ(to_text(report),
              "t\n\n"
              "  model  gpt\n"
              "  plan   " +
                  std::string(60, 'x') + "\n         " + std::string(60, 'y') +
                  "\n"
                  "\n  step  1 s  ± 3 %\n");
    EXPECT_NE(to_markdown(report).find("- model: gpt\n"), std::string::npos);
    EXPECT_NE(to_markdown(report).find("| step, ± 3 % | 1 s |"), std::string::npos);
}

TEST(ReportText, ATerminalShowsTheFirstRowsItsColumnsAndTheNotesBelow) {
    ReportSection section{.title = "s"};
    section.table = {
        .columns = {{"name"}, {.title = "page", .page_only = true}, {"n", Unit::count}},
        .rows = {{"a", "only there", 1}, {"b", "only there", 2}, {"c", "", 3}},
        .shown = 2,
        .rest = "smaller ones",
        .notes = {"on 8 GPUs", "", "unseen"}};
    const Report report{.title = "t", .sections = {section}};
    EXPECT_EQ(to_text(report),
              "t\n\ns\n\n"
              "  name  n\n"
              "  a     1\n"
              "      on 8 GPUs\n"
              "  b     2\n"
              "  and 1 smaller ones\n");
    EXPECT_NE(to_markdown(report).find("| a | only there | 1 | on 8 GPUs |"), std::string::npos)
        << to_markdown(report);
    EXPECT_NE(to_html(report).find("unseen"), std::string::npos);
}

TEST(ReportText, ColumnsMoveTogetherBeforeAWordIsBroken) {
    ReportSection section{.title = "s"};
    std::vector<Cell> row;
    for (int i = 0; i < 6; ++i) {
        section.table.columns.push_back({"w"});
        row.emplace_back(std::string(15, 'w'));
    }
    section.table.rows = {row};
    const std::string text = to_text({.title = "t", .sections = {section}});
    EXPECT_NE(text.find("\n  " + std::string(15, 'w') + " " + std::string(15, 'w')),
              std::string::npos)
        << text;
}

TEST(ReportText, CurvesAreBlocksWhereAReportWantsThem) {
    ReportSection section{.title = "s",
                          .chart = PageChart{.x = {"day", "days"},
                                             .y = {"ETTR", "share"},
                                             .xs = {1, 2, 3},
                                             .series = {{"p", {0.5, std::nullopt, 1.0}}},
                                             .lines = true}};
    EXPECT_EQ(to_text({.title = "t", .sections = {section}}),
              "t\n\ns\n\n  ▁ █\n  ETTR from 50.0 % to 100.0 %, over 3 days\n");
    section.chart->series[0].values = {0.7, 0.7};
    EXPECT_NE(to_text({.title = "t", .sections = {section}}).find("  ██\n"), std::string::npos);
    section.chart->lines = false;
    EXPECT_EQ(to_text({.title = "t", .sections = {section}}), "t\n");
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
