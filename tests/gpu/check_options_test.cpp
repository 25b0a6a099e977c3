// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/check_options.h"

#include <gtest/gtest.h>

#include <vector>

namespace orrery::gpu_check {
namespace {

Result<CheckOptions> of(const std::vector<const char*>& words) {
    return check_options(words);
}

TEST(CheckOptions, AreAllCasesInProcessesOfTheirOwnIfNothingIsSaid) {
    const auto options = of({});
    ASSERT_TRUE(options);
    EXPECT_FALSE(options->seed);
    EXPECT_EQ(options->rounds, 6);
    EXPECT_TRUE(options->checks && options->times);
    EXPECT_FALSE(options->list || options->one_process || options->help);
    EXPECT_TRUE(options->wants("anything"));
}

TEST(CheckOptions, AreRead) {
    const auto options = of({"--only",
                             "^attention/(none|warps) ",
                             "--csv",
                             "x.csv",
                             "7",
                             "--no-times",
                             "2",
                             "--limit",
                             "30",
                             "--one-process"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->seed, 7u);
    EXPECT_EQ(options->rounds, 2);
    EXPECT_EQ(options->csv, "x.csv");
    EXPECT_EQ(options->limit_s, 30);
    EXPECT_TRUE(options->checks && !options->times && options->one_process);
    EXPECT_TRUE(options->wants("attention/warps attention_forward b1"));
    EXPECT_FALSE(options->wants("attention/warpgroups attention_forward b1"));
    const auto timed = of({"--times-only"});
    ASSERT_TRUE(timed);
    EXPECT_TRUE(!timed->checks && timed->times);
}

TEST(CheckOptions, ThatAreWrongAreNamed) {
    const std::vector<std::pair<std::vector<const char*>, std::string>> cases{
        {{"--onyl", "x"}, "--onyl: error: is not an option (hint: --help)"},
        {{"--only"}, "--only: error: needs a value (hint: --help)"},
        {{"--limit", "0"}, "--limit: error: '0' is not a whole number of at least 1"},
        {{"1x"}, "SEED: error: '1x' is not a whole number"},
        {{"1", "-2"}, "-2: error: is not an option (hint: --help)"},
        {{"1", "2", "3"}, "error: '3' is one word too many (hint: --help)"},
        {{"--times-only", "--no-times"}, "--times-only: error: contradicts --no-times"}};
    for (const auto& [words, message] : cases) {
        const auto options = of(words);
        ASSERT_FALSE(options) << message;
        EXPECT_EQ(options.error().to_string(), message);
    }
    const auto options = of({"--only", "(("});
    ASSERT_FALSE(options);
    EXPECT_NE(options.error().what.find("'((' is not a regular expression"), std::string::npos);
}

}  // namespace
}  // namespace orrery::gpu_check
