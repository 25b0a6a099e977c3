// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/command_line_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

#include "scenarios/format/document/nearest.h"
#include "scenarios/program/spelling.h"

namespace orrery {

namespace {

Error missing_error(const Command& command, const CommandOption& missing) {
    return {"command line",
            fmt::format("'{}' is missing. {}",
                        is_word(missing) ? missing.names : flags_of(missing).back(),
                        missing.help),
            fmt::format("for example: orrery {}; see orrery {} --help",
                        command.examples.front(),
                        command.name)};
}

// CLI11's words for an option without its value, or with two, as a sentence.
std::string in_plain_words(const std::string& what) {
    const auto has = [&](std::string_view words) { return what.find(words) != std::string::npos; };
    const std::string option = what.substr(0, what.find(": "));
    if (has(": At Most 1 required but received")) {
        return option + " is given more than once";
    }
    constexpr std::string_view kOne = ": 1 required ";
    constexpr std::string_view kMissing = " missing";
    if (has(kOne) && what.ends_with(kMissing)) {
        const std::size_t from = option.size() + kOne.size();
        return fmt::format(
            "{} lacks its {}", option, what.substr(from, what.size() - kMissing.size() - from));
    }
    return what;
}

}  // namespace

Error command_line_error(const std::vector<Command>& commands,
                         const std::vector<std::string>& words,
                         const std::string& what,
                         const std::function<bool(const std::string& option)>& given) {
    const std::string general = "see orrery --help";
    const auto command = std::ranges::find(commands, words[0], &Command::name);
    if (command == commands.end()) {
        if (words[0].starts_with('-')) {
            const std::vector<std::string> flags{"--help", "--version"};
            const bool known = std::ranges::count(flags, words[0]) > 0;
            return {"command line",
                    known ? what : fmt::format("unknown option '{}'", words[0]),
                    general};
        }
        std::vector<std::string> names;
        for (const Command& known : commands) {
            names.push_back(known.name);
        }
        const bool near = !nearest_names(words[0], names, 1).empty();
        return {"command line",
                fmt::format("unknown command '{}'", words[0]),
                near ? nearest_hint(words[0], names) : general};
    }
    const std::string own = fmt::format("see orrery {} --help", command->name);
    std::vector<std::string> flags{"--help"};
    for (const CommandOption& option : command->options) {
        std::ranges::copy(flags_of(option), std::back_inserter(flags));
    }
    for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
        const std::string flag = words[i].substr(0, words[i].find('='));
        const bool is_short =
            flag.size() == 2 && flag[0] == '-' && std::isalpha(static_cast<unsigned char>(flag[1]));
        const bool is_flag = flag.starts_with("--") || is_short;
        if (is_flag && flag != "-h" && std::ranges::find(flags, flag) == flags.end()) {
            const bool near = !nearest_names(flag, flags, 1).empty();
            const std::string hint = near ? nearest_hint(flag, flags) + " " + own : own;
            return {"command line", fmt::format("unknown option '{}'", flag), hint};
        }
    }
    const auto missing = std::ranges::find_if(command->options, [&](const CommandOption& option) {
        return given && option.required && !given(option.names.substr(0, option.names.find(',')));
    });
    return missing != command->options.end() ? missing_error(*command, *missing)
                                             : Error{"command line", in_plain_words(what), own};
}

std::string why_no_name(const CommandOption& option, const std::string& word) {
    if (word.empty()) {
        return "the name is empty";
    }
    return option.type_name == "FOLDER" && word == "-" ? "a folder is due, not standard output"
                                                       : "";
}

}  // namespace orrery
