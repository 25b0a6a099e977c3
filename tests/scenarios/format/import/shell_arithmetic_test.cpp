// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/shell_arithmetic.h"

#include <gtest/gtest.h>

#include "scenarios/format/import/shell_text.h"

namespace orrery {
namespace {

std::optional<std::int64_t> value(std::string_view expression) {
    return shell_arithmetic(expression, [](std::string_view name) {
        return name == "GPUS" ? std::optional<std::string>{"8"} : std::nullopt;
    });
}

TEST(ShellArithmetic, FollowsBash) {
    EXPECT_EQ(value("GPUS * 4"), 32);
    EXPECT_EQ(value("2+3*4-10/3%2"), 13);
    EXPECT_EQ(value("(2+3)*4"), 20);
    EXPECT_EQ(value("2**3**2"), 512);
    EXPECT_EQ(value("-GPUS + 10"), 2);
    EXPECT_EQ(value("10 - 2 - 3"), 5);
    EXPECT_EQ(value("GPUS >= 8 && 3 != 3 || !0"), 1);
    EXPECT_EQ(value(" 7 "), 7);
}

TEST(ShellArithmetic, HasNoValueWhereOnlyAShellKnows) {
    for (const char* bad : {"",
                            "OTHER",
                            "1/0",
                            "1 +",
                            "(1",
                            "1)",
                            "9223372036854775807 + 1",
                            "2 ** 64",
                            "1.5",
                            "a ? 1 : 2",
                            "1 2",
                            "0x10"}) {
        EXPECT_EQ(value(bad), std::nullopt) << bad;
    }
    EXPECT_EQ(value(std::string(100'000, '(')), std::nullopt);
    std::string powers = "2";
    for (int i = 0; i < 50'000; ++i) {
        powers += "**2";
    }
    EXPECT_EQ(value(powers), std::nullopt);
}

Truth test(const std::vector<std::string>& words) {
    std::vector<TestWord> operands;
    for (const std::string& word : words) {
        operands.push_back({word, word.starts_with("'")});
        if (operands.back().quoted) {
            operands.back().marked = word.substr(1);
        }
    }
    return shell_test(operands);
}

TEST(ShellTest, ComparesTextsAndNumbers) {
    EXPECT_EQ(test({"'fp8", "==", "'fp8"}), Truth::yes);
    EXPECT_EQ(test({"fp8", "!=", "fp8"}), Truth::no);
    EXPECT_EQ(test({"-z", "'"}), Truth::yes);
    EXPECT_EQ(test({"-n", "'x"}), Truth::yes);
    EXPECT_EQ(test({"!", "-n", "'x"}), Truth::no);
    EXPECT_EQ(test({"10", "-gt", "9"}), Truth::yes);
    EXPECT_EQ(test({"10", "<", "9"}), Truth::yes);  // as texts
    EXPECT_EQ(test({"a", "==", "b", "||", "(", "c", "==", "c", ")"}), Truth::yes);
    EXPECT_EQ(test({}), Truth::no);
}

TEST(ShellTest, SaysWhatOnlyAShellKnows) {
    const std::string unset = std::string{kUnsetBegin} + "${KEY}" + kMarkEnd;
    const std::string output = std::string{kUnknownBegin} + "$(hostname)" + kMarkEnd;
    EXPECT_EQ(test({"-n", unset}), Truth::no);
    EXPECT_EQ(test({output, "==", "node1"}), Truth::unknown);
    EXPECT_EQ(test({"-f", "'file"}), Truth::unknown);
    EXPECT_EQ(test({"!", "-f", "'file"}), Truth::unknown);
    EXPECT_EQ(test({"-f", "'file", "&&", "a", "==", "b"}), Truth::no);
    EXPECT_EQ(test({"-f", "'file", "||", "a", "==", "a"}), Truth::yes);
    EXPECT_EQ(test({"x1", "==", "x*"}), Truth::unknown);
    EXPECT_EQ(test({unset, "-lt", "2"}), Truth::unknown);
    EXPECT_EQ(test(std::vector<std::string>(100'000, "!")), Truth::unknown);
}

}  // namespace
}  // namespace orrery
