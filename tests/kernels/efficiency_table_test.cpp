// SPDX-License-Identifier: Apache-2.0
#include "kernels/efficiency_table.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tests/kernels/devices.h"

namespace orrery {
namespace {

std::string written(const std::string& text) {
    const std::string path = testing::TempDir() + "/efficiency_table_test.csv";
    std::ofstream(path) << text;
    return path;
}

TEST(EfficiencyTable, TakesTheMostSpecificRow) {
    EfficiencyTable table;
    table.set("x", "*", "*", {1, 0, "a"});
    EXPECT_EQ(table.value_or("x", "hopper", "fp8", 0), 1);
    table.set("x", "*", "fp8", {2, 0, "a"});
    EXPECT_EQ(table.value_or("x", "hopper", "fp8", 0), 2);
    table.set("x", "hopper", "*", {3, 0, "a"});
    EXPECT_EQ(table.value_or("x", "hopper", "fp8", 0), 3);
    table.set("x", "hopper", "fp8", {4, 0, "a"});
    EXPECT_EQ(table.value_or("x", "hopper", "fp8", 0), 4);
    EXPECT_EQ(table.value_or("x", "ampere", "fp16", 0), 1);
    EXPECT_EQ(table.value_or("y", "ampere", "fp16", 9), 9);
}

TEST(EfficiencyTable, ReadsBackWhatItWrites) {
    EfficiencyTable table;
    table.set("gemm.asymptote", "hopper", "fp16", {0.75, 0.02, "fit: some rows"});
    table.set("memory.fraction", "*", "*", {0.5, 0, "assumed"});
    const auto back = read_efficiency_table(written(efficiency_table_csv(table, "one\ntwo")));
    ASSERT_TRUE(back) << back.error()[0].to_string();
    EXPECT_EQ(*back, table);
}

TEST(EfficiencyTable, NamesTheLineOfEveryMistake) {
    const auto table = read_efficiency_table(
        written("name,generation,dtype,value,sigma,source\nx,*,*,abc,0,s\nx,*,*,1,-1,s\n"));
    ASSERT_FALSE(table);
    ASSERT_EQ(table.error().size(), 2U);
    EXPECT_NE(table.error()[0].where.find(":2"), std::string::npos);
    EXPECT_NE(table.error()[1].where.find(":3"), std::string::npos);
}

TEST(EfficiencyTable, RejectsAParameterGivenTwice) {
    EXPECT_FALSE(read_efficiency_table(
        written("name,generation,dtype,value,sigma,source\nx,*,*,1,0,s\nx,*,*,1,0,s\n")));
}

TEST(EfficiencyTable, TheCommittedOneIsReadable) {
    const auto table = read_efficiency_table(catalogue_path("kernel_efficiency.csv"));
    ASSERT_TRUE(table) << table.error()[0].to_string();
    for (const char* generation : {"volta", "ampere", "hopper", "blackwell"}) {
        EXPECT_NE(table->find("gemm.asymptote", generation, "fp16"), nullptr) << generation;
        EXPECT_NE(table->find("memory.fraction", generation, "*"), nullptr) << generation;
        EXPECT_NE(table->find("attention.flash_3.d128", generation, "fp16"), nullptr) << generation;
    }
}

}  // namespace
}  // namespace orrery
