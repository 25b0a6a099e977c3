// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/spelling.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

TEST(Views, JsonIsShortForItsForm) {
    ViewArguments views;
    EXPECT_EQ(output_format(views).value(), OutputFormat::table);
    views.json = true;
    EXPECT_EQ(output_format(views).value(), OutputFormat::json);
    views.format = "md";
    EXPECT_FALSE(output_format(views));
    views.json = false;
    EXPECT_EQ(output_format(views).value(), OutputFormat::md);
    views.format = "xml";
    EXPECT_EQ(output_format(views).error().hint, "one of table, json, csv, md");
}

// These make a file or start a training, and print no answer.
const std::set<std::string> kWithoutAnswer{"init", "import", "train", "man", "completion"};

const CommandOption* option_of(const Command& command, const std::string& names) {
    const auto found = std::ranges::find(command.options, names, &CommandOption::names);
    return found == command.options.end() ? nullptr : &*found;
}

// One grammar: every command with an answer prints it in the same forms.
TEST(Views, EveryCommandWithAnAnswerHasEveryForm) {
    const Command first = all_commands()[1];
    for (const Command& command : all_commands()) {
        if (kWithoutAnswer.contains(command.name)) {
            continue;
        }
        for (const char* names : {"--format", "--json"}) {
            const CommandOption* option = option_of(command, names);
            ASSERT_NE(option, nullptr) << command.name << ' ' << names;
            EXPECT_EQ(option->help, option_of(first, names)->help) << command.name;
        }
        *std::get<std::string*>(option_of(command, "--format")->target) = "xml";
        const CommandRun run = run_command(command.run);
        EXPECT_EQ(run.status, kExitUserError) << command.name;
        EXPECT_EQ(run.out, "") << command.name;
        EXPECT_EQ(run.err,
                  "--format: error: there is no form 'xml' (hint: one of table, json, csv, md)\n")
            << command.name;
    }
}

// Databases, files that lie beside each other, and what several processes read.
const std::set<std::string> kWithoutStreams{
    "export", "gpu-bench", "merge", "sweep", "tokenize", "train"};

TEST(Views, FilesOfScenariosAndProductsMayBeStreams) {
    for (const Command& command : all_commands()) {
        for (const CommandOption& option : command.options) {
            if (!option.now.empty()) {
                continue;
            }
            const bool input = option.names == "file" || option.names == "files" ||
                               option.names == "cases" || option.names == "texts";
            const bool streams = !kWithoutStreams.contains(command.name);
            if (input && (streams || command.name == "sweep" || command.name == "tokenize")) {
                EXPECT_NE(option.help.find("'-' is standard "), std::string::npos)
                    << command.name << ' ' << option.names;
            }
            if (option.names == "-o,--output" && option.type_name == "FILE" && streams) {
                EXPECT_NE(option.help.find("'-' is standard output"), std::string::npos)
                    << command.name;
            }
        }
    }
}

// The same word is the same thing: its value is spelt alike wherever it is an option.
TEST(Views, OneOptionHasOneKindOfValue) {
    std::map<std::string, std::string> kinds;
    for (const Command& command : all_commands()) {
        for (const CommandOption& option : command.options) {
            const bool kept = option.names == "-o,--output" || !option.now.empty();
            for (const std::string& flag : kept ? std::vector<std::string>{} : flags_of(option)) {
                const auto known = kinds.emplace(flag, option.type_name).first;
                EXPECT_EQ(known->second, option.type_name) << command.name << ' ' << flag;
            }
        }
    }
}

}  // namespace
}  // namespace orrery
