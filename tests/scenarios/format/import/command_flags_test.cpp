// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/command_flags.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

CommandWord command_word(std::string text) {
    return {std::move(text), "run.sh:1:2"};
}

CommandFlag flag_with(std::vector<std::string> values) {
    CommandFlag flag{.name = "--tokens", .where = "run.sh:1:1"};
    for (std::string& value : values) {
        flag.values.push_back(command_word(std::move(value)));
    }
    return flag;
}

TEST(CommandFlags, HaveTheirValuesAfterThemOrBehindTheirEqualsSign) {
    const auto flags = flags_of({command_word("python"),
                                 command_word("--a_b=1"),
                                 command_word("--c"),
                                 command_word("2"),
                                 command_word("3")});
    ASSERT_EQ(flags.size(), 2U);
    EXPECT_EQ(flags[0].name, "--a-b");
    ASSERT_EQ(flags[0].values.size(), 1U);
    EXPECT_EQ(flags[0].values[0].text, "1");
    EXPECT_EQ(find_flag(flags, "--c"), &flags[1]);
    EXPECT_EQ(flags[1].values.size(), 2U);
    EXPECT_EQ(find_flag(flags, "--b"), nullptr);
}

TEST(CommandFlags, AScriptsNameMayFollowTheValue) {
    Errors errors;
    const auto value = value_of_flag(flag_with({"8", "train.py"}), errors);
    ASSERT_TRUE(value);
    EXPECT_EQ(value->text, "8");
    EXPECT_FALSE(value_of_flag(flag_with({"8", "train.py", "9"}), errors));
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].to_string(),
              "run.sh:1:2: error: --tokens has one value, and '9' is a second");
}

TEST(CommandFlags, ANumberIsWholeAndNotNegative) {
    Errors errors;
    EXPECT_EQ(number_of_flag(flag_with({"4096"}), errors), 4096);
    EXPECT_TRUE(errors.empty());
    for (const char* text : {"4k", "-1", "1e3", "2000000000000", "$TOKENS"}) {
        errors.clear();
        EXPECT_EQ(number_of_flag(flag_with({text}), errors), 1) << text;
        EXPECT_EQ(errors.size(), 1U) << text;
    }
    errors.clear();
    EXPECT_EQ(number_of_flag(flag_with({}), errors), 1);
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].what, "--tokens needs a value");
}

}  // namespace
}  // namespace orrery
