// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/help.h"

#include <gtest/gtest.h>

#include <sstream>

#include "scenarios/format/document/utf8.h"

namespace orrery {
namespace {

TEST(Help, NoLineIsLongerThanAHundredColumns) {
    const std::vector<Command> commands = all_commands();
    std::string all = program_help(commands);
    for (const Command& command : commands) {
        all += command_help(command);
    }
    std::istringstream lines{all};
    for (std::string line; std::getline(lines, line);) {
        const bool is_example = line.starts_with("  orrery ");
        EXPECT_TRUE(is_example || num_characters(line) <= 100) << line;
    }
}

TEST(Help, OfTheProgramHasEveryCommandInItsGroup) {
    const std::string text = program_help(all_commands());
    EXPECT_LT(text.find("\nPredict:"), text.find("\n  simulate "));
    EXPECT_LT(text.find("\n  simulate "), text.find("\nTrain:"));
    for (const Command& command : all_commands()) {
        EXPECT_NE(text.find("\n  " + command.name + " "), std::string::npos) << command.name;
    }
}

TEST(Help, OfACommandHasItsOptionsWithoutOldSpellings) {
    std::uint32_t jobs = 0;
    bool fold = true;
    std::string file;
    const Command command{
        .name = "x",
        .help = "Do x",
        .options = {{"file", &file, "A file", "FILE", true},
                    {"-j,--jobs", &jobs, "At a time", "N", false, 1, 64},
                    {"!--no-fold", &fold, "Unfolded"},
                    {.names = "--threads", .target = &jobs, .help = "Old", .now = "--jobs"}},
        .examples = {"x a"}};
    EXPECT_EQ(command_help(command),
              "Do x\n\nUsage: orrery x [OPTIONS] file\n\nArguments:\n"
              "  file                        A file\n\nOptions:\n"
              "  -j, --jobs N                At a time [1 to 64]\n"
              "  --no-fold                   Unfolded\n"
              "  -h, --help                  Print this text\n\nExample:\n  orrery x a\n");
}

}  // namespace
}  // namespace orrery
