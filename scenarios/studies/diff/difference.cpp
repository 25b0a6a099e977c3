// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/diff/difference.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace orrery {
namespace {

std::optional<double> number_of(const std::string& text) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    return !text.empty() && read.ec == std::errc{} && read.ptr == end ? std::optional{value}
                                                                      : std::nullopt;
}

bool are_scalars(const DocumentNode& list) {
    return std::ranges::all_of(list.items, &DocumentNode::is_scalar);
}

std::string list_text(const DocumentNode& list) {
    std::string text = "[";
    for (const DocumentNode& item : list.items) {
        text += (text.size() > 1 ? ", " : "") + item.text;
    }
    return text + "]";
}

using Leaves = std::vector<std::pair<std::string, std::string>>;

void add_leaves(const DocumentNode& node, const std::string& path, Leaves& leaves) {
    switch (node.kind) {
        case DocumentNode::Kind::null:
            leaves.emplace_back(path, "null");
            return;
        case DocumentNode::Kind::scalar:
            leaves.emplace_back(path, node.text);
            return;
        case DocumentNode::Kind::sequence:
            if (are_scalars(node)) {
                leaves.emplace_back(path, list_text(node));
                return;
            }
            for (std::size_t i = 0; i < node.items.size(); ++i) {
                add_leaves(node.items[i], path + "[" + std::to_string(i) + "]", leaves);
            }
            return;
        case DocumentNode::Kind::map:
            break;
    }
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
        const std::string& key = node.keys[i].text;
        add_leaves(node.items[i], path.empty() ? key : path + "." + key, leaves);
    }
}

}  // namespace

std::optional<double> Difference::change() const {
    const auto from = before ? number_of(*before) : std::nullopt;
    const auto to = after ? number_of(*after) : std::nullopt;
    return from && to && *from != 0 ? std::optional{*to / *from - 1} : std::nullopt;
}

std::vector<std::pair<std::string, std::string>> leaves_of(const DocumentNode& document) {
    Leaves leaves;
    add_leaves(document, "", leaves);
    return leaves;
}

std::vector<Difference> differences(const DocumentNode& before,
                                    const DocumentNode& after,
                                    const std::vector<std::string_view>& left_out) {
    const auto is_left_out = [&](const std::string& key) {
        const std::string first = key.substr(0, key.find_first_of(".["));
        return std::ranges::find(left_out, first) != left_out.end();
    };
    std::map<std::string, std::string> now;
    const Leaves all_after = leaves_of(after);
    now.insert(all_after.begin(), all_after.end());
    std::set<std::string> known;
    std::vector<Difference> found;
    for (const auto& [key, value] : leaves_of(before)) {
        known.insert(key);
        const auto other = now.find(key);
        if (is_left_out(key) || (other != now.end() && other->second == value)) {
            continue;
        }
        found.push_back({key, value, {}});
        if (other != now.end()) {
            found.back().after = other->second;
        }
    }
    for (const auto& [key, value] : all_after) {
        if (!is_left_out(key) && !known.contains(key)) {
            found.push_back({key, {}, value});
        }
    }
    return found;
}

}  // namespace orrery
