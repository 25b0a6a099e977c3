// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/measured_runs.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

constexpr const char* kStep =
    "kind: scenario\n"
    "name: mine\n"
    "cluster: {nodes: 1, node: dgx-h100, fabric: ndr400-rail}\n"
    "model: gpt-2-124m\n"
    "plan: {micro_batch_size: 4, global_batch_size: 32, precision: bf16}\n";

TEST(MeasuredRuns, KnowTheirTable) {
    const TestFolder folder;
    EXPECT_TRUE(is_run_table(folder.write("a.csv", "# ours\nset,scenario,measured_s\n")));
    EXPECT_FALSE(is_run_table(folder.write("b.csv", "case,scenario,measured_s\n")));
    EXPECT_FALSE(is_run_table(folder.write("c.csv", "scenario\n")));
    EXPECT_FALSE(is_run_table("/nowhere/none.csv"));
}

TEST(MeasuredRuns, ReadScenariosFromTheTablesFolder) {
    const TestFolder folder;
    folder.write("mine.yaml", kStep);
    const auto runs = read_measured_runs(
        folder.write("runs.csv",
                     "scenario,measured_s,set,family\n"
                     "mine.yaml,0.25,,\n"
                     "mine.yaml,0.5,plan.micro_batch_size=2;plan.global_batch_size=64,batches\n"));
    ASSERT_TRUE(runs) << runs.error().front().to_string();
    ASSERT_EQ(runs->size(), 2U);
    EXPECT_EQ((*runs)[0].name, "mine.yaml");
    EXPECT_EQ((*runs)[0].family, "mine");
    EXPECT_EQ((*runs)[0].measured_s, 0.25);
    EXPECT_EQ((*runs)[1].name, "mine.yaml plan.micro_batch_size=2;plan.global_batch_size=64");
    EXPECT_EQ((*runs)[1].family, "batches");
    EXPECT_EQ((*runs)[1].scenario.plan.global_batch_size, 64);
}

TEST(MeasuredRuns, TellEveryMistakeAtOnce) {
    const TestFolder folder;
    folder.write("mine.yaml", kStep);
    const auto runs = read_measured_runs(folder.write("runs.csv",
                                                      "scenario,measured_s,set\n"
                                                      "mine.yaml,fast,\n"
                                                      "none.yaml,1,\n"
                                                      "mine.yaml,1,plan.nothing=1\n"));
    ASSERT_FALSE(runs);
    ASSERT_EQ(runs.error().size(), 3U);
    EXPECT_NE(runs.error()[0].where.find("runs.csv:2"), std::string::npos);
    EXPECT_EQ(runs.error()[0].what, "measured_s can't be 'fast'");
    EXPECT_EQ(runs.error()[1].what, "there is no such file");
    EXPECT_NE(runs.error()[2].what.find("unknown key 'nothing'"), std::string::npos);
    const auto none = read_measured_runs(folder.write("none.csv", "scenario,measured_s\n"));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().front().what, "the table has no rows");
}

}  // namespace
}  // namespace orrery
