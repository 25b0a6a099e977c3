// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/help.h"

#include <fmt/format.h>

#include <string_view>

#include "scenarios/format/document/utf8.h"
#include "scenarios/program/spelling.h"
#include "scenarios/report/render/text_table.h"

namespace orrery {
namespace {

constexpr std::size_t kHelpColumns = 100;
constexpr std::size_t kMeaningColumn = 30;

// A name with its meaning in a second column. A long name has its own line.
std::string entry(const std::string& name, const std::string& meaning) {
    const std::string first = "  " + name;
    std::string lines = wrapped(meaning, kHelpColumns, kMeaningColumn);
    const std::size_t width = num_characters(first);
    if (width + 2 > kMeaningColumn) {
        return first + "\n" + lines;
    }
    return first + lines.substr(width);
}

template <class Chosen>
std::string options_text(const Command& command, std::string_view title, const Chosen& chosen) {
    std::string text;
    for (const CommandOption& option : command.options) {
        if (option.now.empty() && chosen(option)) {
            text += entry(spelling_of(option), meaning_of(option));
        }
    }
    return text.empty() ? "" : fmt::format("\n{}:\n{}", title, text);
}

}  // namespace

std::string command_help(const Command& command) {
    std::string text = fmt::format("{}\n\nUsage: {}\n", command.help, usage_of(command));
    text += options_text(command, "Arguments", is_word);
    text += options_text(command, "Options", [](const CommandOption& option) {
        return !is_word(option) && !option.general;
    });
    text += options_text(command, "Options of every command", [](const CommandOption& option) {
        return option.general;
    });
    text += entry("-h, --help", "Print this text");
    text += command.examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
    for (const std::string& example : command.examples) {
        text += "  orrery " + example + "\n";
    }
    return text;
}

std::string program_help(const std::vector<Command>& commands) {
    std::string text =
        "Orrery simulates GPU clusters that train transformers, and trains on them.\n\n"
        "Usage: orrery COMMAND [OPTIONS] [ARGUMENTS]\n";
    for (std::size_t i = 0; i < commands.size(); ++i) {
        if (i == 0 || commands[i].group != commands[i - 1].group) {
            text += fmt::format("\n{}:\n", title_of(commands[i].group));
        }
        text += fmt::format("  {:<16}{}\n", commands[i].name, commands[i].help);
    }
    return text +
           "\nBegin with:\n"
           "  orrery init -o my.yaml                    write a first scenario\n"
           "  orrery check my.yaml                      is it right?\n"
           "  orrery simulate my.yaml --html my.html    time and memory of a step\n"
           "  orrery explain my.yaml                    what would make it faster\n"
           "\n"
           "orrery COMMAND --help, or man orrery-COMMAND, shows a command's options and examples.\n"
           "orrery --version shows the build. Exit statuses: 0 success, 1 a finding, 2 an error,\n"
           "70 a defect of the program.\n";
}

}  // namespace orrery
