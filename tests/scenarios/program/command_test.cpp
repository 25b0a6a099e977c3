// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/command.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery {
namespace {

TEST(Commands, SayWhatTheyDoWithAnExampleEach) {
    std::set<std::string> names;
    for (const Command& command : all_commands()) {
        EXPECT_TRUE(names.insert(command.name).second) << command.name;
        EXPECT_FALSE(command.help.empty()) << command.name;
        EXPECT_LE(command.help.size(), 90u) << command.name;
        EXPECT_TRUE(command.run) << command.name;
        ASSERT_FALSE(command.examples.empty()) << command.name;
        for (const std::string& example : command.examples) {
            EXPECT_TRUE(example.starts_with(command.name + ' ')) << example;
        }
        for (const CommandOption& option : command.options) {
            EXPECT_FALSE(option.help.empty()) << command.name << ' ' << option.names;
        }
    }
    EXPECT_TRUE(names.contains("simulate"));
}

TEST(Commands, NamesOfOptionsAreUnique) {
    for (const Command& command : all_commands()) {
        std::set<std::string> names;
        for (const CommandOption& option : command.options) {
            EXPECT_TRUE(names.insert(option.names).second) << command.name << ' ' << option.names;
        }
    }
}

TEST(Commands, DescribedTwiceShareNoVariables) {
    const std::vector<Command> first = all_commands();
    const std::vector<Command> second = all_commands();
    *std::get<std::string*>(first[0].options[0].target) = "changed";
    EXPECT_EQ(*std::get<std::string*>(second[0].options[0].target), "");
}

TEST(Commands, AWrongCommandLineIsToldWithTheNearestName) {
    const std::vector<Command> commands = all_commands();
    const auto told = [&](const std::vector<std::string>& words) {
        return command_line_error(commands, words, "told by the parser").to_string();
    };
    EXPECT_EQ(told({"simualte", "x"}),
              "error: unknown command 'simualte' (hint: did you mean 'simulate'?)");
    EXPECT_EQ(told({"qqqqqqqqqq"}),
              "error: unknown command 'qqqqqqqqqq' (hint: see orrery --help)");
    EXPECT_NE(told({"simulate", "x.yaml", "--jsn"})
                  .find("error: unknown option '--jsn' (hint: did you mean '--json'"),
              std::string::npos);
    for (const std::string flag : {"--jsn", "--xyzxyzxyz=3"}) {
        const std::string text = told({"simulate", "x.yaml", flag});
        EXPECT_NE(text.find("see orrery simulate --help)"), std::string::npos) << text;
    }
    EXPECT_EQ(told({"simulate", "--json", "--no-fold", "--set=plan.a=1", "--", "--jsn"}),
              "command line: error: told by the parser (hint: see orrery simulate --help)");
    EXPECT_EQ(told({}), "command line: error: which command? (hint: see orrery --help)");
}

}  // namespace
}  // namespace orrery
