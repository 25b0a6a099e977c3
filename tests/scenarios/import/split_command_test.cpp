// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "scenarios/import/megatron_command.h"

namespace orrery {
namespace {

TEST(SplitCommand, ReadsQuotesLineEndsAndCommentsAsAShell) {
    const auto words =
        split_command("torchrun # how\n a\\\n  --x 'one two' \"\" b\\ c\n", "run.sh");
    ASSERT_TRUE(words);
    std::vector<std::string> texts;
    for (const CommandWord& word : *words) {
        texts.push_back(word.text);
    }
    EXPECT_EQ(texts, (std::vector<std::string>{"torchrun", "a", "--x", "one two", "", "b c"}));
    EXPECT_EQ((*words)[2].where, "run.sh:3:3");
    EXPECT_TRUE(split_command("", "run.sh")->empty());
}

TEST(SplitCommand, AnOpenQuoteIsAnErrorAtItsPlace) {
    const auto words = split_command("a\n  'b", "run.sh");
    ASSERT_FALSE(words);
    EXPECT_EQ(words.error().front().where, "run.sh:2:3");
    EXPECT_FALSE(split_command(std::string{"a\0b", 3}, "run.sh"));
}

}  // namespace
}  // namespace orrery
