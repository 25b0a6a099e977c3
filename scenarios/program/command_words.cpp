// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/command_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/program/spelling.h"

namespace orrery {
namespace {

std::vector<std::string> values_of(const CommandOption::Target& target) {
    return std::visit(
        [](const auto* value) -> std::vector<std::string> {
            using Value = std::remove_cvref_t<decltype(*value)>;
            if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
                return *value;
            } else if constexpr (std::is_same_v<Value, std::string>) {
                return value->empty() ? std::vector<std::string>{} : std::vector{*value};
            } else {
                return {fmt::format("{}", *value)};
            }
        },
        target);
}

}  // namespace

std::vector<std::string> command_words(const std::string& name,
                                       const std::vector<CommandOption>& options,
                                       std::initializer_list<std::string_view> without) {
    std::vector<std::string> words{name};
    for (const CommandOption& option : options) {
        const std::vector<std::string> flags = flags_of(option);
        if (!option.now.empty() || std::ranges::find_first_of(flags, without) != flags.end()) {
            continue;
        }
        if (const auto* flag = std::get_if<bool*>(&option.target)) {
            if (**flag != option.names.starts_with('!')) {
                words.push_back(flags.back());
            }
            continue;
        }
        for (std::string& value : values_of(option.target)) {
            if (!flags.empty()) {
                words.push_back(flags.back());
            }
            words.push_back(std::move(value));
        }
    }
    return words;
}

}  // namespace orrery
