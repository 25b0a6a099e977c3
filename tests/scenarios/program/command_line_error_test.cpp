// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/command_line_error.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery {
namespace {

TEST(CommandLineError, AWrongCommandLineIsToldWithTheNearestName) {
    const std::vector<Command> commands = all_commands();
    const auto told = [&](const std::vector<std::string>& words) {
        return command_line_error(commands, words, "told by the parser").to_string();
    };
    EXPECT_EQ(told({"simualte", "x"}),
              "command line: error: unknown command 'simualte' (hint: did you mean 'simulate'?)");
    EXPECT_EQ(told({"qqqqqqqqqq"}),
              "command line: error: unknown command 'qqqqqqqqqq' (hint: see orrery --help)");
    EXPECT_NE(told({"simulate", "x.yaml", "--jsn"})
                  .find("error: unknown option '--jsn' (hint: did you mean '--json'"),
              std::string::npos);
    for (const std::string flag : {"--jsn", "--xyzxyzxyz=3"}) {
        const std::string text = told({"simulate", "x.yaml", flag});
        EXPECT_NE(text.find("see orrery simulate --help)"), std::string::npos) << text;
    }
    EXPECT_EQ(
        told({"simulate", "x.yaml", "-o", "y"}).find("command line: error: unknown option '-o'"),
        0u);
    EXPECT_NE(told({"simulate", "x.yaml", "-q", "-1"}).find("told by the parser"),
              std::string::npos);
    EXPECT_EQ(told({"simulate", "--json", "--no-fold", "--set=plan.a=1", "--", "--jsn"}),
              "command line: error: told by the parser (hint: see orrery simulate --help)");
}

TEST(CommandLineError, AMissingArgumentIsNamedWithItsMeaningAndAnExample) {
    const std::vector<Command> commands = all_commands();
    const auto told = [&](bool given) {
        return command_line_error(
                   commands, {"compare"}, "told by the parser", [&](const auto&) { return given; })
            .to_string();
    };
    EXPECT_EQ(told(true),
              "command line: error: told by the parser (hint: see orrery compare --help)");
    EXPECT_EQ(told(false),
              "command line: error: 'run' is missing. Folder of orrery train --record (hint: for "
              "example: orrery compare build/run; see orrery compare --help)");
}

// What CLI11 says of `--html` at the end of a line, and of `--html a --html b`.
TEST(CommandLineError, AnOptionWithoutItsValueOrWithTwoIsToldInASentence) {
    const std::vector<Command> commands = all_commands();
    const auto told = [&](const char* what) {
        return command_line_error(
                   commands, {"simulate", "x.yaml"}, what, [](const auto&) { return true; })
            .what;
    };
    EXPECT_EQ(told("--html: 1 required FILE missing"), "--html lacks its FILE");
    EXPECT_EQ(told("--html: At Most 1 required but received 2"), "--html is given more than once");
    EXPECT_EQ(told("--jobs: Value x not in range 0 to 1024"),
              "--jobs: Value x not in range 0 to 1024");
}

}  // namespace
}  // namespace orrery
