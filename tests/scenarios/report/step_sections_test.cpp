// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <utility>

#include "scenarios/format/document/utf8.h"
#include "scenarios/report/render/report.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/study_sections.h"
#include "scenarios/studies/validate/validation.h"
#include "tests/scenarios/golden_report.h"
#include "tests/scenarios/report/sample_answer.h"

namespace orrery {
namespace {

TEST(StepSections, EveryFormHasTheSameAnswer) {
    Answer answer = sample_answer("small");
    answer.assumed = {{"plan.precision", "bf16"}};
    const Report report = step_sections(answer);
    for (const std::string& text : {to_text(report), to_markdown(report), to_html(report)}) {
        for (const char* due : {"6.34 s",
                                "DOES NOT FIT: the fullest GPU needs 90.0 GiB and has 80.0 GiB",
                                "exposed pipeline",
                                "nvls_tree",
                                "precision bf16"}) {
            EXPECT_NE(text.find(due), std::string::npos) << due << "\n" << text.substr(0, 2000);
        }
    }
}

TEST(StepSections, OnATerminal) {
    expect_golden("step", to_text(step_sections(sample_answer("small"))));
}

TEST(StepSections, NeverPassAHundredColumns) {
    for (const std::string& name : {std::string{"x"}, std::string(300, 'n'), std::string{}}) {
        std::istringstream lines{to_text(step_sections(sample_answer(name)))};
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(num_characters(line), kReportColumns) << line;
        }
    }
}

TEST(StepSections, TheMemoryBesideThePlanCounts) {
    Answer a = sample_answer("x");
    a.memory.overheads = {{"driver", Bytes{std::int64_t{1} << 30}},
                          {"NCCL buffers", Bytes{std::int64_t{2} << 30}}};
    const std::string text = to_text(step_sections(a));
    for (const char* due : {"93.0 GiB of 80.0 GiB: DOES NOT FIT",
                            "plan's peak  90.0 GiB",
                            "NCCL buffers  2.00 GiB",
                            "largest buffers"}) {
        EXPECT_NE(text.find(due), std::string::npos) << due << "\n" << text;
    }
}

TEST(StepSections, AnIntervalThatIsWiderSaysWhy) {
    Answer a = sample_answer("x");
    EXPECT_EQ(to_text(step_sections(a)).find("wider"), std::string::npos);
    a.iteration = Time::seconds(1);
    a.shift = std::log(1.2);
    a.uncertainty = std::log(1.5) / kQuantile95;
    for (const auto& [unseen, words] :
         {std::pair{Unseen::software, "No step of this software was fitted"},
          std::pair{Unseen::lineage, "No step of this software or its kin was fitted"},
          std::pair{Unseen::experts, "No step of this kind of model was fitted"},
          std::pair{Unseen::device, "No step of this device and precision was fitted"}}) {
        a.unseen = unseen;
        const std::string line = step_sections(a).lines.back();
        EXPECT_NE(line.find(words), std::string::npos) << line;
        EXPECT_NE(line.find("take 800 ms to 1.80 s, half of them more than 1.20 s"),
                  std::string::npos)
            << line;
    }
}

TEST(StepSections, CountInTheSingularAndInThousands) {
    Answer a = sample_answer("x");
    EXPECT_NE(to_text(step_sections(a)).find("Simulated 123,456,789,012 ops in "),
              std::string::npos);
    a.ranks = a.seq_length = a.micro_batches = a.global_batch_size = 1;
    a.fold_classes = a.flows = a.distinct_paths = a.rate_solves = 1;
    a.parameters = 124'082'688;
    a.unprofiled_cpu = true;
    const std::string one = to_text(step_sections(a));
    for (const char* text : {"  cluster  1 GPU (a100-80g): x\n",
                             "  batch    1 sequence of 1 token, 1 micro-batch\n",
                             "  model    x, 124.1 million parameters\n",
                             "1 fold class, 1 flow on 1 path, 1 rate solve.",
                             "\nThis CPU was never profiled: `orrery profile` measures"}) {
        EXPECT_NE(one.find(text), std::string::npos) << text << "\n" << one;
    }
    a.model.clear();
    a.parameters = 81'630'000'000'000;
    EXPECT_EQ(step_sections(a).facts.front().value, "81.63 trillion parameters");
}

TEST(StepSections, EqualCollectivesAreOneRowAndAProfileSaysWhatItTimes) {
    Answer a = sample_answer("x");
    a.profile_transfers = 26;
    a.profile_transfers_here = 20;
    a.collectives = {{.name = "all_reduce on tp", .ranks = 8, .algorithm = "measured", .count = 30},
                     {.name = "all_reduce on tp", .ranks = 8, .algorithm = "measured", .count = 10},
                     {.name = "all_reduce on dp", .ranks = 16, .algorithm = "ring", .count = 2}};
    const ReportSection section = step_sections(a).sections.back();
    ASSERT_EQ(section.table.rows.size(), 2u);
    EXPECT_EQ(
        section.after.back().find("The profile has 26 transfers, 6 of another device. It times "
                                  "40 of 42 collectives"),
        0u)
        << section.after.back();
    a.collectives[0].engine = TransferEngine::copy_engine;
    EXPECT_EQ(step_sections(a).sections.back().table.rows.size(), 3u);
}

TEST(StepSections, PicturesAreOnThePageOnly) {
    TimelineBars timeline;
    timeline.names = {"gemm"};
    timeline.lanes = {{.rank = RankId{3},
                       .role = "pp 0",
                       .stream = "compute",
                       .first = true,
                       .bars = {{.kind = BarKind::forward, .length_ns = 5, .micro_batch = 2}}}};
    timeline.memory.role = "pp 0";
    timeline.memory.moments.resize(2);
    timeline.memory.moments[1].at_ns = 1'000'000;
    const Answer answer = sample_answer("small");
    const Report report = step_sections(answer, &timeline);
    EXPECT_EQ(to_text(report), to_text(step_sections(answer)));
    const std::string page = to_html(report);
    for (const char* due : {"Ranks over time",
                            "pp 0 #3",
                            "\"gemm\"",
                            "[0,0,5,0,2]",
                            "Memory over time: pp 0",
                            "\"stacked\":true"}) {
        EXPECT_NE(page.find(due), std::string::npos) << due;
    }
}

TEST(StepSections, CsvIsOneRowOfSecondsBytesAndShares) {
    const std::string csv = to_csv(step_sections(sample_answer("small")));
    EXPECT_EQ(csv,
              "scenario,gpus,iteration [s],uncertainty,tokens_per_s,mfu,hfu,peak_memory "
              "[bytes],device_memory [bytes],fits\n"
              "small,12288,6.34,0,1984000,0.552,0.56,96636764160,85899345920,false\n");
}

TEST(StepSections, TheBarsOfTheWaterfallFollowEachOther) {
    const auto bars = step_sections(sample_answer("small")).sections.front().bars;
    for (std::size_t i = 1; i + 1 < bars.size(); ++i) {
        EXPECT_DOUBLE_EQ(bars[i].share, i == 1 ? 1 : bars[i - 1].begin);
    }
    EXPECT_NEAR(bars[bars.size() - 2].begin, bars.back().share, 1e-9);
}

// A line says what its sign means.
TEST(StepSections, TheWaterfallSaysWhichFlopsAreCounted) {
    const auto name_of = [](double mfu) {
        Answer answer = sample_answer("small");
        answer.lost_mfu = {{.cause = Cause::counted_not_executed, .mfu = mfu}};
        return waterfall_section(answer, "").bars[1].name;
    };
    EXPECT_EQ(name_of(-0.01), "+ counted, not executed");
    EXPECT_EQ(name_of(0.01), "- executed, not counted");
}

}  // namespace
}  // namespace orrery
