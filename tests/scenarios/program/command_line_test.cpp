// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/command_line.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "scenarios/report/render/terminal.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

CommandRun run_words(std::vector<std::string> words) {
    words.insert(words.begin(), "orrery");
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    const CommandRun run =
        run_command([&] { return run_command_line(static_cast<int>(argv.size()), argv.data()); });
    terminal() = {};
    return run;
}

TEST(CommandLine, HelpOfACommandAsAVerbAndAsAnOption) {
    const CommandRun option = run_words({"show", "--help"});
    EXPECT_EQ(option.status, kExitOk);
    EXPECT_EQ(option.out, run_words({"help", "show"}).out);
    EXPECT_NE(option.out.find("Usage: orrery show"), std::string::npos) << option.out;
}

TEST(CommandLine, MistakesHaveAHintAndStatusTwo) {
    EXPECT_EQ(run_words({"simualte"}).status, kExitUserError);
    const CommandRun colour = run_words({"keys", "plan", "--color", "blue"});
    EXPECT_EQ(colour.status, kExitUserError);
    EXPECT_NE(colour.err.find("auto, always or never"), std::string::npos) << colour.err;
}

TEST(CommandLine, AnOldSpellingIsNoted) {
    const CommandRun run =
        run_words({"import", "hf", "/no/such/config.json", "--device", "h100-80g"});
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("--device is now --gpu"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace orrery
