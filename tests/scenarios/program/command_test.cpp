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

}  // namespace
}  // namespace orrery
