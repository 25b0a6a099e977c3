// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/length_table.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

ResultOrErrors<LengthTable> table_of(const std::string& rows) {
    const TestFolder folder;
    const std::string head = "share,input_tokens,output_tokens\n";
    return read_length_table(folder.write("lengths.csv", head + rows));
}

TEST(LengthTable, IsLinearBetweenItsShares) {
    const auto table = table_of("0,10,1\n0.5,20,1\n1,100,9\n");
    ASSERT_TRUE(table);
    EXPECT_DOUBLE_EQ(length_at(*table, table->input_tokens, 0), 10);
    EXPECT_DOUBLE_EQ(length_at(*table, table->input_tokens, 0.25), 15);
    EXPECT_DOUBLE_EQ(length_at(*table, table->input_tokens, 0.75), 60);
    EXPECT_DOUBLE_EQ(length_at(*table, table->output_tokens, 1), 9);
}

TEST(LengthTable, RefusesTablesThatDoNotAscendOrReach) {
    for (const char* rows : {"0,10,1\n",
                             "0,10,1\n0.5,20,2\n",
                             "0,10,1\n1,9,2\n",
                             "0,10,1\n0,11,2\n1,12,3\n",
                             "0,0,1\n1,2,3\n",
                             "0,x,1\n1,2,3\n"}) {
        EXPECT_FALSE(table_of(rows)) << rows;
    }
}

ResultOrErrors<std::vector<WorkflowStage>> stages_of(const std::string& rows) {
    const TestFolder folder;
    const std::string file =
        folder.write("stages.csv", "calls,input_tokens,output_tokens\n" + rows);
    EXPECT_TRUE(is_stage_table(file));
    return read_stage_table(file);
}

TEST(StageTable, HasAStageARow) {
    const auto stages = stages_of("1,308,5\n4,5963,79\n");
    ASSERT_TRUE(stages);
    ASSERT_EQ(stages->size(), 2U);
    EXPECT_EQ(stages->back().calls, 4);
    EXPECT_EQ(stages->back().output_tokens, 79);
}

TEST(StageTable, RowsOfOneStageMayDifferAndHaveTemplates) {
    const TestFolder folder;
    const auto stages =
        read_stage_table(folder.write("templates.csv",
                                      "stage,calls,input_tokens,output_tokens,template_tokens\n"
                                      "1,1,300,5,213\n2,1,11933,680,9158\n2,3,8066,680,0\n"));
    ASSERT_TRUE(stages);
    ASSERT_EQ(stages->size(), 3U);
    EXPECT_EQ((*stages)[0].stage, 0U);
    EXPECT_EQ((*stages)[1].stage, 1U);
    EXPECT_EQ((*stages)[2].stage, 1U);
    EXPECT_EQ((*stages)[1].template_tokens, 9158);
    for (const char* rows : {"2,1,300,5,0\n",               // begins with the second stage
                             "1,1,300,5,0\n3,1,300,5,0\n",  // leaves one out
                             "1,1,300,5,301\n",             // a template longer than the prompt
                             "1,1,300,5,-1\n",
                             "1,1,300,5,x\n"}) {
        EXPECT_FALSE(read_stage_table(folder.write(
            "wrong.csv",
            std::string{"stage,calls,input_tokens,output_tokens,template_tokens\n"} + rows)))
            << rows;
    }
}

TEST(StageTable, RefusesStagesWithoutCallsOrTokens) {
    for (const char* rows : {"", "0,10,1\n", "1.5,10,1\n", "1001,10,1\n", "1,0,1\n", "1,9,x\n"}) {
        EXPECT_FALSE(stages_of(rows)) << rows;
    }
    std::string many;
    for (int i = 0; i < 256; ++i) {
        many += "1,2,3\n";
    }
    EXPECT_FALSE(stages_of(many));
}

}  // namespace
}  // namespace orrery
