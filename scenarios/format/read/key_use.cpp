// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/key_use.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/format/read/scenario_keys.h"

namespace orrery {
namespace {

// "a.b" begins "a.b", "a.b.c" and "a.b[0]".
bool begins(std::string_view path, std::string_view keys) {
    return path.starts_with(keys) &&
           (path.size() == keys.size() || path[keys.size()] == '.' || path[keys.size()] == '[');
}

// Whether the use is of the key at `path`, or of some key below it.
bool is_of(const KeyUse& use, std::string_view path) {
    return use.keys.empty() || begins(path, use.keys) || begins(use.keys, path);
}

bool reads(const KeyReader& reader, std::string_view path) {
    return std::ranges::any_of(reader.uses, [&](const KeyUse& use) { return is_of(use, path); });
}

// A command that reads every key, such as check, is no hint for one of them.
bool is_inspector(const KeyReader& reader) {
    return std::ranges::any_of(reader.uses, [](const KeyUse& use) { return use.keys.empty(); });
}

// The section and the key in it, without the numbers of items: "recovery.policies".
std::string first_two(std::string_view path) {
    std::string names;
    bool in_brackets = false;
    int dots = 0;
    for (const char c : path) {
        dots += c == '.' ? 1 : 0;
        in_brackets = (in_brackets || c == '[') && c != ']';
        if (dots == 2) {
            break;
        }
        if (!in_brackets && c != ']') {
            names += c;
        }
    }
    return names;
}

// The reader of the file has a better error for an unknown key.
bool is_a_key(std::string_view path) {
    const std::string names = first_two(path);
    return std::ranges::any_of(scenario_keys(),
                               [&](const ScenarioKey& key) { return first_two(key.key) == names; });
}

}  // namespace

Error unread_key(const KeyReader& reader, std::string_view path, std::span<const KeyReader> all) {
    if (!is_a_key(path)) {
        return {};
    }
    std::string_view when;
    for (const KeyUse& use : reader.uses) {
        if (is_of(use, path)) {
            if (use.when.empty() || use.holds()) {
                return {};
            }
            when = use.when;
        }
    }
    std::string others;
    for (const KeyReader& other : all) {
        if (other.command != reader.command && !is_inspector(other) && reads(other, path)) {
            others +=
                fmt::format("{} orrery {}", others.empty() ? "; read by" : ",", other.command);
        }
    }
    return {"",
            when.empty() ? fmt::format("orrery {} does not read this key", reader.command)
                         : fmt::format("orrery {} reads this key only {}", reader.command, when),
            "leave it out" + others};
}

}  // namespace orrery
