// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace orrery {

std::vector<std::string> flags_of(const CommandOption& option) {
    std::vector<std::string> flags;
    for (std::size_t begin = 0; begin < option.names.size();) {
        const std::size_t comma = std::min(option.names.find(',', begin), option.names.size());
        std::string name = option.names.substr(begin, comma - begin);
        name.erase(0, name.starts_with('!') ? 1 : 0);
        if (name.starts_with('-')) {
            flags.push_back(std::move(name));
        }
        begin = comma + 1;
    }
    return flags;
}

bool is_word(const CommandOption& option) {
    return flags_of(option).empty();
}

std::string spelling_of(const CommandOption& option) {
    if (is_word(option)) {
        return option.names;
    }
    std::string text;
    for (const std::string& flag : flags_of(option)) {
        text += (text.empty() ? "" : ", ") + flag;
    }
    if (std::holds_alternative<bool*>(option.target)) {
        return text;
    }
    return text + " " + (option.type_name.empty() ? "VALUE" : option.type_name);
}

std::string meaning_of(const CommandOption& option) {
    std::string text = option.help;
    if (option.most > option.least) {
        text += fmt::format(" [{} to {}]", option.least, option.most);
    }
    if (option.required && !is_word(option)) {
        text += " (required)";
    }
    return text;
}

std::string usage_of(const Command& command) {
    std::string text = "orrery " + command.name;
    std::string words;
    bool options = false;
    for (const CommandOption& option : command.options) {
        if (!is_word(option)) {
            options = true;
            continue;
        }
        if (!option.now.empty()) {
            continue;
        }
        const bool several = std::holds_alternative<std::vector<std::string>*>(option.target);
        const std::string word = option.names + (several ? "..." : "");
        words += option.required ? " " + word : " [" + word + "]";
    }
    return text + (options ? " [OPTIONS]" : "") + words;
}

std::vector<std::string> words_of_line(int argc, char** argv) {
    std::vector<std::string> words{argv + 1, argv + argc};
    if (!words.empty() && words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    return words;
}

}  // namespace orrery
