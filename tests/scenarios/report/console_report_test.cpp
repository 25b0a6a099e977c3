// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/console_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "scenarios/format/document/utf8.h"
#include "scenarios/report/json_report.h"
#include "scenarios/studies/validate/validation.h"
#include "tests/scenarios/report/sample_answer.h"

namespace orrery {
namespace {

TEST(Counted, AddsTheEndingOfThePlural) {
    EXPECT_EQ(counted(1, "micro-batch"), "1 micro-batch");
    EXPECT_EQ(counted(4, "micro-batch"), "4 micro-batches");
    EXPECT_EQ(counted(1'024, "GPU"), "1,024 GPUs");
}

TEST(ConsoleReport, NeverPassesAHundredColumns) {
    for (const std::string& name : {std::string{"x"}, std::string(300, 'n'), std::string{}}) {
        std::istringstream lines{console_report(sample_answer(name))};
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(num_characters(line), kReportColumns) << line;
        }
    }
}

TEST(ConsoleReport, TellsWhatDoesNotFit) {
    const std::string report = console_report(sample_answer("x"));
    EXPECT_NE(report.find("90.0 GiB  of 80.0 GiB: DOES NOT FIT"), std::string::npos) << report;
    EXPECT_NE(report.find("largest buffers"), std::string::npos);
}

TEST(ConsoleReport, SaysThatACpuWasNeverProfiled) {
    Answer a = sample_answer("x");
    EXPECT_EQ(console_report(a).find("never profiled"), std::string::npos);
    a.unprofiled_cpu = true;
    EXPECT_NE(console_report(a).find("\nThis CPU was never profiled: `orrery profile` measures"),
              std::string::npos);
}

TEST(ConsoleReport, NamesWhatCostsAndLeavesOutWhatIsEmpty) {
    Answer a = sample_answer("x");
    a.lost_mfu = {{Cause::gemm_inefficiency, 0.3, Time::seconds(1.9)},
                  {Cause::exposed_tensor, 0.1, Time::seconds(0.6)},
                  {Cause::exposed_context, 0.02, Time::seconds(0.1)},
                  {Cause::exposed_other, 0.04, Time::seconds(0.25)},
                  {Cause::counted_not_executed, -0.012, Time::seconds(-0.08)}};
    const std::string report = console_report(a);
    for (const char* line : {"  - GEMM inefficiency         30.0 %     1.90 s  ",
                             "  - exposed tensor-parallel   10.0 %     600 ms  ",
                             "  - exposed context-parallel   2.0 %     100 ms  ",
                             "  - exposed embedding, norm    4.0 %     250 ms  ",
                             "  - counted, not executed     -1.2 %   -80.0 ms  "}) {
        EXPECT_NE(report.find(line), std::string::npos) << line << "\n" << report;
    }
    EXPECT_EQ(report.find("  gradients "), std::string::npos) << "there are none";
    a.network.clear();
    EXPECT_NE(console_report(a).find("24 SMs"), std::string::npos);
    EXPECT_EQ(console_report(a).find("wider"), std::string::npos);
    a.unseen = Unseen::software;
    EXPECT_NE(console_report(a).find("no step of this software"), std::string::npos);
    a.unseen = Unseen::lineage;
    a.iteration = Time::seconds(1);
    a.shift = std::log(1.2);
    a.uncertainty = std::log(1.5) / kQuantile95;
    EXPECT_NE(console_report(a).find("90 % of such steps take 800 ms to 1.80 s, half of them more "
                                     "than 1.20 s"),
              std::string::npos)
        << console_report(a);
    EXPECT_NE(console_report(a).find("no step of this software or its kin"), std::string::npos);
    a.unseen = Unseen::device;
    EXPECT_NE(console_report(a).find("no step of this device"), std::string::npos);
    a.collectives[0].engine = TransferEngine::copy_engine;
    EXPECT_NE(console_report(a).find("copy engine"), std::string::npos);
    a.collectives.clear();
    EXPECT_EQ(console_report(a).find("Use of the links"), std::string::npos);
    EXPECT_EQ(console_report(a).find("Collectives"), std::string::npos);
}

TEST(ConsoleReport, SaysWhatLiesBesideThePlan) {
    Answer a = sample_answer("x");
    a.memory.overheads = {{"driver", Bytes{std::int64_t{1} << 30}},
                          {"NCCL buffers", Bytes{std::int64_t{2} << 30}}};
    const std::string report = console_report(a);
    EXPECT_NE(report.find("NCCL buffers               2.00 GiB"), std::string::npos) << report;
    EXPECT_NE(report.find("all                        93.0 GiB  of 80.0 GiB: DOES NOT FIT"),
              std::string::npos)
        << report;
}

TEST(ConsoleReport, TheGpuFitsWhereOnlyItsServerIsTooSmall) {
    Answer a = sample_answer("x");
    a.memory.device = a.memory.needed();
    a.memory.host_memory = Bytes{std::int64_t{2} << 30};
    a.memory.host = Bytes{std::int64_t{3} << 30};
    a.memory.fits = false;
    const std::string report = console_report(a);
    EXPECT_NE(report.find("90.0 GiB  of 90.0 GiB: fits"), std::string::npos) << report;
    EXPECT_EQ(report.find("largest buffers"), std::string::npos) << report;
    EXPECT_NE(report.find("3.00 GiB  of 2.00 GiB of a server: DOES NOT FIT by 1.00 GiB"),
              std::string::npos)
        << report;
}

TEST(ConsoleReport, CountsInTheSingularAndInThousands) {
    Answer a = sample_answer("x");
    a.ranks = 1;
    a.seq_length = 4096;
    a.micro_batches = 1;
    a.global_batch_size = 1;
    a.fold_classes = 1;
    a.flows = 1;
    a.distinct_paths = 1;
    a.rate_solves = 1;
    a.parameters = 124'082'688;
    const std::string one = console_report(a);
    for (const char* text : {"  cluster   1 GPU (a100-80g): x\n",
                             "  batch     1 sequence of 4,096 tokens, 1 micro-batch\n",
                             "  model     x, 124.1 million parameters\n",
                             "1 fold class, 1 flow on 1 path, 1 rate solve."}) {
        EXPECT_NE(one.find(text), std::string::npos) << text << "\n" << one;
    }
    EXPECT_NE(console_report(sample_answer("x")).find("Simulated 123,456,789,012 ops in "),
              std::string::npos);
}

// The parts take the bar away from the right, each where the one before it ended.
TEST(ConsoleReport, AModelWithoutANameHasItsSizeOnly) {
    Answer answer = sample_answer("x");
    answer.model.clear();
    answer.parameters = 81'630'000'000'000;
    EXPECT_NE(console_report(answer).find("  model     81.63 trillion parameters\n"),
              std::string::npos);
}

TEST(ConsoleReport, BarsOfTheWaterfallTouch) {
    const std::string report = console_report(sample_answer("x"));
    std::istringstream lines{report};
    std::string bars[4];
    std::size_t found = 0;
    for (std::string line; std::getline(lines, line);) {
        const bool part = line.starts_with("  - ") || line.starts_with("  device peak") ||
                          line.starts_with("  = MFU");
        if (part && found < 4) {
            bars[found++] = line.substr(49);
        }
    }
    ASSERT_EQ(found, 4U) << report;
    EXPECT_EQ(num_characters(bars[0]), 42U);
    for (std::size_t i = 1; i + 1 < found; ++i) {
        EXPECT_EQ(num_characters(bars[i]), i == 1 ? 42U : 29U) << bars[i];  // 1, then 1 - 0.3
    }
    EXPECT_EQ(num_characters(bars[3]), 23U);  // 0.552 of 42
}

TEST(ConsoleReport, RemarksFollowTheHeading) {
    Answer a = sample_answer("x");
    a.remarks = {
        "all 32 nodes are under one set of leaf switches: oversubscription 3 changes "
        "nothing; cluster.fabric.nodes_per_leaf_set is 32"};
    EXPECT_NE(console_report(a).find("\n  all 32 nodes are under one set"), std::string::npos);
    EXPECT_EQ(console_report(a).find("nothing; cluster.fabric.nodes_per_leaf_set is 32 "),
              std::string::npos);
    EXPECT_NE(json_report(a).find("oversubscription 3 changes nothing"), std::string::npos);
}

TEST(ConsoleReport, SaysWhichCollectivesTheProfileTimes) {
    Answer a = sample_answer("x");
    EXPECT_EQ(console_report(a).find("The profile has"), std::string::npos);
    a.profile_transfers = 26;
    a.profile_transfers_here = 20;
    a.collectives = {{.name = "all_reduce on tp", .ranks = 8, .algorithm = "measured", .count = 40},
                     {.name = "all_reduce on dp", .ranks = 16, .algorithm = "ring", .count = 2}};
    EXPECT_NE(
        console_report(a).find("The profile has 26 transfers, 6 of another device. It times 40 "
                               "of 42 collectives\n"),
        std::string::npos)
        << console_report(a);
}

}  // namespace
}  // namespace orrery
