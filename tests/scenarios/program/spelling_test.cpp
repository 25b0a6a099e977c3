// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/spelling.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Spelling, OfOptionsAndOfWordsInTheirPlace) {
    std::uint32_t jobs = 0;
    bool fold = true;
    std::string file;
    const CommandOption number{"-j,--jobs", &jobs, "At a time", "N", true, 1, 64};
    const CommandOption flag{"!--no-fold", &fold, "Unfolded"};
    const CommandOption word{"file", &file, "A file", "FILE", true};
    using Flags = std::vector<std::string>;
    EXPECT_EQ(flags_of(number), (Flags{"-j", "--jobs"}));
    EXPECT_EQ(flags_of(flag), Flags{"--no-fold"});
    EXPECT_EQ(flags_of(word), Flags{});
    EXPECT_EQ(spelling_of(number), "-j, --jobs N");
    EXPECT_EQ(spelling_of(flag), "--no-fold");
    EXPECT_EQ(spelling_of(word), "file");
    EXPECT_EQ(meaning_of(number), "At a time [1 to 64] (required)");
    EXPECT_TRUE(is_word(word));
    EXPECT_FALSE(is_word(flag));
}

TEST(Spelling, TheUsageHasOptionalWordsInBrackets) {
    std::string file;
    std::vector<std::string> more;
    const Command command{
        .name = "x",
        .help = "Do x",
        .options = {{"file", &file, "A file", "FILE", true},
                    {"more", &more, "More", "FILE"},
                    {.names = "old", .target = &file, .help = "Old", .now = "--output"}}};
    EXPECT_EQ(usage_of(command), "orrery x file [more...]");
}

}  // namespace
}  // namespace orrery
