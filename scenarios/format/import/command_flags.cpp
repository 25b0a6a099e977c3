// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/command_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace orrery {

std::vector<CommandFlag> flags_of(const std::vector<CommandWord>& words) {
    std::vector<CommandFlag> flags;
    for (const CommandWord& word : words) {
        if (!word.text.starts_with("--")) {
            if (!flags.empty()) {
                flags.back().values.push_back(word);
            }
            continue;
        }
        const std::size_t equals = std::min(word.text.find('='), word.text.size());
        CommandFlag flag{.name = word.text.substr(0, equals), .where = word.where};
        std::ranges::replace(flag.name, '_', '-');  // torchrun accepts both
        if (equals < word.text.size()) {
            flag.values.push_back({word.text.substr(equals + 1), word.where});
        }
        flags.push_back(std::move(flag));
    }
    return flags;
}

const CommandFlag* find_flag(const std::vector<CommandFlag>& flags, std::string_view name) {
    const auto found = std::ranges::find(flags, name, &CommandFlag::name);
    return found == flags.end() ? nullptr : &*found;
}

std::optional<CommandWord> value_of_flag(const CommandFlag& flag, Errors& errors) {
    if (flag.values.empty()) {
        errors.push_back({flag.where, flag.name + " needs a value", {}});
        return std::nullopt;
    }
    const auto is_script = [](const CommandWord& word) {
        return word.text.ends_with(".py") || word.text.ends_with(".sh");
    };
    const auto second = std::find_if_not(flag.values.begin() + 1, flag.values.end(), is_script);
    if (second != flag.values.end()) {
        errors.push_back(
            {second->where,
             fmt::format("{} has one value, and '{}' is a second", flag.name, second->text),
             {}});
        return std::nullopt;
    }
    const CommandWord& value = flag.values.front();
    if (value.text.find('$') != std::string::npos || value.text.starts_with('`')) {
        errors.push_back({value.where,
                          fmt::format("{}: only a shell knows '{}'", flag.name, value.text),
                          "set the variable above in the script, or write the value"});
        return std::nullopt;
    }
    return value;
}

std::int64_t number_of_flag(const CommandFlag& flag, Errors& errors) {
    const auto value = value_of_flag(flag, errors);
    if (!value) {
        return 1;
    }
    std::int64_t number = 0;
    const char* end = value->text.data() + value->text.size();
    const auto [stop, error] = std::from_chars(value->text.data(), end, number);
    if (error != std::errc{} || stop != end || number < 0 || number > 1'000'000'000'000) {
        errors.push_back({value->where,
                          fmt::format("{}: '{}' is not a whole number", flag.name, value->text),
                          {}});
        return 1;
    }
    return number;
}

}  // namespace orrery
